//===- Factories.h - One factory for each family of kernels ---*- C++ -*-===//
//
// `Kernel.cpp` maps aclnn names to these.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_KERNELS_FACTORIES_H
#define MF_LIB_KERNELS_FACTORIES_H

#include "mf/Kernels/Kernel.h"

namespace mf {

using KernelOrError = llvm::Expected<std::unique_ptr<Kernel>>;

KernelOrError makeMatmul(const KernelSpec &spec);
KernelOrError makeUnary(const KernelSpec &spec);
KernelOrError makeBinary(const KernelSpec &spec);
KernelOrError makeActivationBackward(const KernelSpec &spec);
KernelOrError makeCast(const KernelSpec &spec);
KernelOrError makeSwiGlu(const KernelSpec &spec);
KernelOrError makeSwiGluGrad(const KernelSpec &spec);
KernelOrError makePermute(const KernelSpec &spec);
KernelOrError makeSlice(const KernelSpec &spec);
KernelOrError makeCat(const KernelSpec &spec);
KernelOrError makePad(const KernelSpec &spec);
KernelOrError makeRepeat(const KernelSpec &spec);
KernelOrError makeInplaceCopy(const KernelSpec &spec);
KernelOrError makeInplaceZero(const KernelSpec &spec);
KernelOrError makeReduceSum(const KernelSpec &spec);
KernelOrError makeSoftmax(const KernelSpec &spec);
KernelOrError makeSoftmaxBackward(const KernelSpec &spec);
KernelOrError makeRmsNorm(const KernelSpec &spec);
KernelOrError makeRmsNormGrad(const KernelSpec &spec);
KernelOrError makeRotary(const KernelSpec &spec);
KernelOrError makeFlashAttention(const KernelSpec &spec);
KernelOrError makeFlashAttentionGrad(const KernelSpec &spec);
KernelOrError makeEmbedding(const KernelSpec &spec);
KernelOrError makeEmbeddingBackward(const KernelSpec &spec);
KernelOrError makeCrossEntropyLoss(const KernelSpec &spec);
KernelOrError makeCrossEntropyLossGrad(const KernelSpec &spec);
KernelOrError makeInplaceAdd(const KernelSpec &spec);
KernelOrError makeMulScalar(const KernelSpec &spec);
KernelOrError makeNorm(const KernelSpec &spec);
KernelOrError makeNonFiniteCheck(const KernelSpec &spec);
KernelOrError makeAdamW(const KernelSpec &spec);

} // namespace mf

#endif // MF_LIB_KERNELS_FACTORIES_H
