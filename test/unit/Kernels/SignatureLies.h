//===- SignatureLies.h - Signatures against what kernels do ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_KERNELS_SIGNATURELIES_H
#define MF_TEST_UNIT_KERNELS_SIGNATURELIES_H

#include "mf/Program/Signatures/KernelSignature.h"
#include <string>

namespace mf::testing {

/// Runs the kernel of `spec` on memory with different contents before, and on
/// memory that `signature` lets it share. Says what is not as the signature
/// says, or nothing:
/// - inputs keep their bytes, and nothing behind an operand or the workspace is
///   written;
/// - outputs depend on their own bytes before if and only if they are read, on
///   those of the workspace never;
/// - what is accumulated is what was there plus what is added to zeros;
/// - an output in the place of an input has the bits of one of its own.
std::string findLie(const KernelSignature &signature, const KernelSpec &spec);

} // namespace mf::testing

#endif // MF_TEST_UNIT_KERNELS_SIGNATURELIES_H
