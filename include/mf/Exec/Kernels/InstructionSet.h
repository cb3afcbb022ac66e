//===- InstructionSet.h - Processor features that kernels use ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Kernels require an x86-64 processor with AVX2. They use AVX-512 and AMX if
// the processor has them and the environment variable ONEDNN_MAX_CPU_ISA allows
// it. The variable limits oneDNN, which reads it, as well as our own loops and
// products: if it is set to AVX2, a step runs as on a processor without later
// extensions.
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_KERNELS_INSTRUCTIONSET_H
#define MF_EXEC_KERNELS_INSTRUCTIONSET_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace mf {

/// Limits the loops that Highway dispatches to the instructions that oneDNN may
/// use. Fails on a processor for which no loop was compiled. Code that makes
/// kernels calls it first. Only the first call takes time.
llvm::Error prepareInstructionSet();

/// Returns the instructions that the kernels of this process use: "AVX2",
/// "AVX-512" or "AVX-512 and AMX".
llvm::StringRef getInstructionSetName();

} // namespace mf

#endif // MF_EXEC_KERNELS_INSTRUCTIONSET_H
