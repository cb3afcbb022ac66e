//===- OverlapPlan.h - Order of operators around collectives ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// An order in which operators of one copy of a model run while another copy
// communicates. This file does not depend on IR: the graph is given by the
// producers of each operator.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_OVERLAP_OVERLAPPLAN_H
#define MF_PASSES_OVERLAP_OVERLAPPLAN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <string>
#include <vector>

namespace mf::passes {

/// One operator, in the original order.
struct OrderedOperator {
  std::string name;
  /// True if it starts a collective, for which its readers wait.
  bool communicates = false;
  /// True if it depends on parameters alone. Any copy may read it.
  bool isConstant = false;
  /// The indices of operators whose results it reads. They are lower than its
  /// own.
  std::vector<int64_t> producers;
};

struct OverlapPlan {
  std::vector<int64_t> order;
  /// The number of operators between a collective and its first reader, summed
  /// over all collectives.
  int64_t distance = 0;

  void print(llvm::ArrayRef<OrderedOperator> operators,
             llvm::raw_ostream &os) const;
};

/// The next operator is the first one whose operands are available and that
/// does not read a pending collective. If all of them read one, the reader of
/// the collective that began first is chosen; that collective is then over.
OverlapPlan planOverlap(llvm::ArrayRef<OrderedOperator> operators);

} // namespace mf::passes

#endif // MF_PASSES_OVERLAP_OVERLAPPLAN_H
