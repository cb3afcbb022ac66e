//===- KernelChain.h - Kernels that run as one ----------------*- C++ -*-===//
//
// mfChain runs several kernels one after another on a few rows at a time, so
// that intermediate tensors never lie in device memory. Its attribute `steps`
// gives the kernels: each makes one tensor, from the chain's inputs and the
// results of earlier steps; the last one makes the chain's output. All steps
// make tensors of the same dimensions but the last, so the rows of one depend
// on the same rows of the others.
//
//===----------------------------------------------------------------------===//

#ifndef MF_SIGNATURES_KERNELCHAIN_H
#define MF_SIGNATURES_KERNELCHAIN_H

#include "mf/Program/Signatures/KernelSignature.h"

namespace mf {

/// The kernel that does one step of a chain by itself. Its operands must be
/// there: inputs of the chain and results of steps before it.
KernelSpec getStepSpec(const KernelSpec &chain, size_t step);

/// All steps of a chain; none if the kernel is no chain, or one whose steps
/// read values that do not exist.
std::vector<KernelSpec> getStepSpecs(const KernelSpec &spec);

/// Checks that a chain is valid, given kernels that agree with their
/// signatures: each step may be part of a chain and reads values that exist,
/// all shapes fit, no result or input is unused, and an input that may lie
/// where the output does has its rows there, too. Messages name steps as t0, t1
/// and inputs as in0, in1. The shapes of a single step are for its kernel to
/// check.
llvm::Error checkChain(const KernelSpec &chain);

/// FLOPs of all steps.
int64_t getChainFlops(const KernelSpec &chain);

} // namespace mf

#endif // MF_SIGNATURES_KERNELCHAIN_H
