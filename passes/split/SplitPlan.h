//===- SplitPlan.h - Chooses the half of backward ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The decision of mf-split-chunks as a plain value. This file does not depend
// on MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_SPLIT_SPLITPLAN_H
#define MF_PASSES_SPLIT_SPLITPLAN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <vector>

namespace mf::passes {

/// One operator of a chunk's backward half.
struct BackwardOperator {
  /// The indices of the operators of backward whose results it uses. They
  /// precede it.
  llvm::SmallVector<int64_t, 2> producers;
  /// The indices of the chunk's results that are results of this operator. The
  /// first ones are the gradients of hidden inputs.
  llvm::SmallVector<int64_t, 2> returned;
};

/// Returns for each of `operators`, given in program order, whether it only
/// serves gradients of parameters and therefore may wait: no gradient of a
/// hidden input depends on it. In a chunk without hidden inputs, for which no
/// other stage waits, these are the operators on which a single result depends.
/// The chain on which all of them depend, which is as long as that of other
/// chunks, then forms the other half. The result of an operator that may wait
/// is only read by such operators. Takes linear time in operators and uses. The
/// split is that of zero-bubble pipelining (Qi et al., 2024).
std::vector<bool> planWeightHalf(llvm::ArrayRef<BackwardOperator> operators,
                                 int64_t numHiddenInputs);

} // namespace mf::passes

#endif // MF_PASSES_SPLIT_SPLITPLAN_H
