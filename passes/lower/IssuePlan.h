//===- IssuePlan.h - Issue times of collectives on parameters ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A layer that gathers a parameter does so right before it reads it, and the
// sum of a gradient is read as soon as it is requested. Neither would overlap
// with other work. This file decides how much earlier gathers are issued, and
// how much later sums are waited for. It does not depend on IR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_LOWER_ISSUEPLAN_H
#define MF_PASSES_LOWER_ISSUEPLAN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace mf::passes {

/// One operator of a function. Operators are in program order.
struct PlannedOperator {
  /// True if it gathers a parameter that ranks store in shards.
  bool isGather = false;
  /// True if it sums a gradient over ranks.
  bool isReduction = false;
  /// The unit of such a collective, if it has one.
  std::optional<int64_t> unit;
  /// The indices of the operators whose results it uses.
  llvm::SmallVector<int64_t, 2> producers;
  /// For a reduction: the operators, in order, that lead from it to the
  /// function's result and have no other readers.
  llvm::SmallVector<int64_t, 2> tail;
};

/// The next item to lower: an operator, or the completion of a reduction.
struct PlannedItem {
  enum class Kind { Operator, Completion };
  Kind kind = Kind::Operator;
  int64_t index = 0;

  bool operator==(const PlannedItem &other) const {
    return kind == other.kind && index == other.index;
  }
};

struct IssuePlan {
  std::vector<PlannedItem> items;
  int64_t numGathers = 0;
  int64_t numReductions = 0;
  /// The number of units that gather or reduce.
  int64_t numUnits = 0;
};

/// Issues each gather, with its producers, at the place of the gather that is
/// `inFlight` before it, or at the start. Completes each reduction, which means
/// to wait for it and to run its tail, after the `inFlight`-th reduction that
/// follows, or at the end. Hence at most `inFlight` parameters are held
/// earlier, and as many summands of gradients longer, than without collectives
/// in flight. 0 keeps the order. Takes linear time in operators and uses.
///
/// Collectives with a unit are issued by units instead. At the first gather of
/// a unit, all gathers of this unit and of the next one are issued. The
/// reductions of a unit are completed when the second unit after it begins to
/// reduce.
IssuePlan planIssue(llvm::ArrayRef<PlannedOperator> operators,
                    int64_t inFlight);

} // namespace mf::passes

#endif // MF_PASSES_LOWER_ISSUEPLAN_H
