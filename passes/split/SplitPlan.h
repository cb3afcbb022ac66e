//===- SplitPlan.h - Chooses the half of backward ---------------*- C++ -*-===//
//
// The decision of mf-split-chunks as a plain value. Knows no MLIR.
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
  /// The operators of backward, by index, whose results it uses. They come
  /// before it.
  llvm::SmallVector<int64_t, 2> producers;
  /// The chunk's results, by number, that are results of it. The first ones are
  /// the gradients of hidden inputs.
  llvm::SmallVector<int64_t, 2> returned;
};

/// Whether each of `operators`, given in program order, only serves gradients
/// of parameters and may therefore wait: it reaches no gradient of a hidden
/// input. In a chunk without hidden inputs, for which no other stage waits,
/// these are the operators that reach one result alone, so that the chain all
/// of them hang on, as long as that of other chunks, is the other half. Only
/// operators of the same kind read the result of such an operator. Linear in
/// operators and uses. The split is that of zero-bubble pipelining (Qi et al.,
/// 2024).
std::vector<bool> planWeightHalf(llvm::ArrayRef<BackwardOperator> operators,
                                 int64_t numHiddenInputs);

} // namespace mf::passes

#endif // MF_PASSES_SPLIT_SPLITPLAN_H
