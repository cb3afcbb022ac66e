//===- InstructionSet.h - Processor features that kernels use ---*- C++ -*-===//
//
// Kernels need an x86-64 processor with AVX2, and use AVX-512 and AMX where the
// processor has them and the environment's ONEDNN_MAX_CPU_ISA allows it. This
// variable limits oneDNN, which reads it, and all of our own loops and products
// alike: with AVX2 a step runs as on a processor that has no more.
//
//===----------------------------------------------------------------------===//

#ifndef MF_KERNELS_INSTRUCTIONSET_H
#define MF_KERNELS_INSTRUCTIONSET_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace mf {

/// Limits the loops that Highway dispatches to what oneDNN may use, and refuses
/// a processor that none of them was compiled for. Whoever makes a kernel calls
/// it first; only the first call costs anything.
llvm::Error prepareInstructionSet();

/// Names the instructions that the kernels of this process use: "AVX2",
/// "AVX-512" or "AVX-512 and AMX".
llvm::StringRef getInstructionSetName();

} // namespace mf

#endif // MF_KERNELS_INSTRUCTIONSET_H
