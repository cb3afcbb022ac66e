//===- IssuePlan.h - Times of collectives on parameters ---------*- C++ -*-===//
//
// A layer that gathers a parameter does so right before it reads it, and the
// sum of a gradient is read as soon as it is asked for. Neither would run
// beside anything. This decides how much earlier gathers are issued, and how
// much later sums are waited for. No IR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_LOWER_ISSUEPLAN_H
#define MF_PASSES_LOWER_ISSUEPLAN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <vector>

namespace mf::passes {

/// One operator of a function, in program order.
struct PlannedOperator {
  /// Puts together a parameter that ranks store in parts.
  bool isGather = false;
  /// Sums a gradient over ranks.
  bool isReduction = false;
  /// The operators, by index, whose results it uses.
  llvm::SmallVector<int64_t, 2> producers;
  /// For a reduction: the operators that lead from it to the function's result
  /// and to nothing else, in order.
  llvm::SmallVector<int64_t, 2> tail;
};

/// The next item to lower: an operator, or the completion behind a reduction.
struct PlannedStep {
  enum class Kind { Operator, Completion };
  Kind kind = Kind::Operator;
  int64_t index = 0;

  bool operator==(const PlannedStep &other) const {
    return kind == other.kind && index == other.index;
  }
};

struct IssuePlan {
  std::vector<PlannedStep> steps;
  int64_t numGathers = 0;
  int64_t numReductions = 0;

  void print(llvm::raw_ostream &os) const;
};

/// Issues each gather, with its producers, where the gather stands that is
/// `inFlight` before it, or at the begin. Completes each reduction, that is
/// waits for it and runs its tail, behind the `inFlight`-th after it, or at the
/// end. So at most `inFlight` parameters are held earlier, and as many summands
/// of gradients longer, than without collectives in flight. 0 leaves all as it
/// is. Linear in operators and uses.
IssuePlan planIssue(llvm::ArrayRef<PlannedOperator> operators,
                    int64_t inFlight);

} // namespace mf::passes

#endif // MF_PASSES_LOWER_ISSUEPLAN_H
