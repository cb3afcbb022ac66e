//===- KernelChain.h - Kernels that are fused into one ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// mfChain runs several kernels one after another on a few rows at a time, so
// that intermediate tensors are never written to device memory. Its attribute
// `steps` lists the kernels. Each one computes one tensor from the chain's
// inputs and the results of earlier steps. The last one computes the chain's
// output. All steps except the last have results with the same dimensions, so a
// row of a result depends only on the same rows of its operands.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_SIGNATURES_KERNELCHAIN_H
#define MF_PROGRAM_SIGNATURES_KERNELCHAIN_H

#include "mf/Program/Signatures/KernelSignature.h"

namespace mf {

/// Returns all steps of a chain. Empty if the kernel is no chain, or if steps
/// of the chain read values that do not exist.
std::vector<KernelSpec> getStepSpecs(const KernelSpec &spec);

/// Checks that a chain is valid, given that its kernels agree with their
/// signatures: each step may be part of a chain and reads values that exist,
/// all shapes fit, no result or input is unused, and an input that may share
/// memory with the output has the same rows. Messages name steps t0, t1 and
/// inputs in0, in1. Each step's own kernel checks the shapes of that step.
llvm::Error checkChain(const KernelSpec &chain);

/// Returns the sum of the FLOPs of all steps.
int64_t getChainFlops(const KernelSpec &chain);

} // namespace mf

#endif // MF_PROGRAM_SIGNATURES_KERNELCHAIN_H
