//===- MessageVerifier.h - Verifies messages between calls ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PROGRAM_MESSAGEVERIFIER_H
#define MF_LIB_PROGRAM_MESSAGEVERIFIER_H

#include "mf/Program/Program.h"
#include "llvm/Support/Error.h"

namespace mf::program {

/// Proves, for a program whose chunks all have certificates, that each forward
/// reads loads and outputs, and each backward gradients, of its own
/// micro-batch, and that all micro-batches read them from the same chunks.
llvm::Error verifyMessages(const Program &program);

} // namespace mf::program

#endif // MF_LIB_PROGRAM_MESSAGEVERIFIER_H
