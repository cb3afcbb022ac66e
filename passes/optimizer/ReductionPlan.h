//===- ReductionPlan.h - Reductions of gradients over ranks -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// If several ranks hold a parameter, or shards of it, each computes a summand
// of its gradient. This file decides where in a step these are summed. It does
// not depend on IR.
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
  /// The number of ranks that hold summands of its gradient; 1 if each holds
  /// the whole.
  int64_t summands = 1;
  /// True if its storage is sharded over ranks.
  bool isShared = false;
  /// True if its gradient is reduce-scattered before it is accumulated.
  bool scattersGradients = false;
  /// True if it is gathered once at the start of the step for all
  /// micro-batches.
  bool isGatheredOnce = false;
};

enum class ReductionPlace {
  /// No ranks hold summands.
  Nowhere,
  /// The gradient is summed where backward computes it.
  Backward,
  /// The gradient is reduce-scattered where a micro-batch's backward computes
  /// it. Summands along other axes are summed at the end of the step.
  MicroBatch,
  /// The gradient is summed at the end of the step.
  Step
};

llvm::StringRef getName(ReductionPlace place);

/// Returns the place of each parameter, in their order. If the step has only
/// `runs` = 1 backward, the gradient is complete where that computes it, and
/// the whole gradient need not be kept. Otherwise it is accumulated over
/// micro-batches first.
std::vector<ReductionPlace>
planReductions(int64_t runs, llvm::ArrayRef<ReducedParameter> parameters);

void printReductions(llvm::ArrayRef<ReducedParameter> parameters,
                     llvm::ArrayRef<ReductionPlace> places,
                     llvm::raw_ostream &os);

} // namespace mf::passes

#endif // MF_PASSES_OPTIMIZER_REDUCTIONPLAN_H
