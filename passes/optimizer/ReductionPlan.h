//===- ReductionPlan.h - Reductions of gradients over ranks -----*- C++ -*-===//
//
// A parameter that several ranks have, or share out, has a gradient of which
// each makes a summand. This decides where in a step they are summed. No IR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_OPTIMIZER_REDUCTIONPLAN_H
#define MF_PASSES_OPTIMIZER_REDUCTIONPLAN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <string>
#include <vector>

namespace mf::passes {

struct ReducedParameter {
  std::string name;
  /// Ranks that have summands of its gradient; 1 if each has the whole.
  int64_t summands = 1;
  /// Whether ranks share its storage out.
  bool isShared = false;
  /// Whether they share its gradient out before they add it up.
  bool scattersGradients = false;
  /// Whether the step's begin puts it together for all micro-batches.
  bool isGatheredOnce = false;
};

enum class ReductionPlace {
  /// No ranks have summands.
  Nowhere,
  /// The sum is where backward makes the gradient.
  Backward,
  /// Shared out where a micro-batch's backward makes it; what other axes have
  /// is summed at the step's end.
  MicroBatch,
  /// The sum is at the step's end.
  Step
};

llvm::StringRef getName(ReductionPlace place);

/// The place of each parameter, in their order. A gradient is complete where
/// backward makes it if the step has `runs` = 1 of it; then the whole gradient
/// need not be kept. Otherwise it is summed over micro-batches first.
std::vector<ReductionPlace>
planReductions(int64_t runs, llvm::ArrayRef<ReducedParameter> parameters);

void printReductions(llvm::ArrayRef<ReducedParameter> parameters,
                     llvm::ArrayRef<ReductionPlace> places,
                     llvm::raw_ostream &os);

} // namespace mf::passes

#endif // MF_PASSES_OPTIMIZER_REDUCTIONPLAN_H
