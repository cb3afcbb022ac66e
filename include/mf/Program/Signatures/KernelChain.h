//===- KernelChain.h - Kernels that are fused into one ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// mfChain fuses kernels: it runs them one after another on a few rows at a
// time, so that intermediate tensors are never written to device memory. Its
// attribute `steps` lists the kernels. Each one computes one tensor from the
// chain's inputs and the results of earlier kernels. The last one computes the
// chain's output. All kernels except the last have results with the same
// dimensions, so a row of a result depends only on the same rows of its
// operands.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_SIGNATURES_KERNELCHAIN_H
#define MF_PROGRAM_SIGNATURES_KERNELCHAIN_H

#include "mf/Program/Signatures/KernelSignature.h"

namespace mf {

/// Returns the specifications of the kernels of a chain. Empty if `spec` is no
/// chain, or if kernels of the chain read values that do not exist.
std::vector<KernelSpec> getFusedSpecs(const KernelSpec &spec);

/// Checks that a chain is valid, given that its kernels agree with their
/// signatures: each kernel may be fused and reads values that exist,
/// all shapes fit, no result or input is unused, and an input that may share
/// memory with the output has the same rows. Messages name kernels t0, t1 and
/// inputs in0, in1. A kernel that runs alone checks its own shapes.
llvm::Error checkChain(const KernelSpec &chain);

} // namespace mf

#endif // MF_PROGRAM_SIGNATURES_KERNELCHAIN_H
