//===- KernelTraits.h - What kernels do with their operands ---*- C++ -*-===//

#ifndef MF_PROGRAM_KERNELTRAITS_H
#define MF_PROGRAM_KERNELTRAITS_H

#include "llvm/ADT/StringRef.h"

namespace mf::program {

/// Whether a kernel reads its outputs before it writes them: those that work
/// in place list the buffer only as an output.
bool readsOutputs(llvm::StringRef kernel);

} // namespace mf::program

#endif // MF_PROGRAM_KERNELTRAITS_H
