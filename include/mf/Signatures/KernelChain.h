//===- KernelChain.h - Kernels that run as one ----------------*- C++ -*-===//
//
// mfChain runs several kernels one after another on a few rows at a time, so
// that what is between them never lies in device memory. Its attribute `steps`
// says which kernels: each makes one tensor, of the chain's inputs and of what
// steps before it made; the last one makes the chain's output. All steps make
// tensors of the same dimensions but the last, so the rows of one are made of
// the same rows of the others.
//
//===----------------------------------------------------------------------===//

#ifndef MF_SIGNATURES_KERNELCHAIN_H
#define MF_SIGNATURES_KERNELCHAIN_H

#include "mf/Signatures/KernelSignature.h"

namespace mf {

/// The kernel that does one step of a chain by itself. Its operands must be
/// there: inputs of the chain and results of steps before it.
KernelSpec getStepSpec(const KernelSpec &chain, size_t step);

/// All steps of a chain; none if the kernel is no chain, or one whose steps
/// read what is not there.
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
