//===- MessageVerifier.h - Do calls pass the right messages? ----*- C++ -*-===//

#ifndef MF_LIB_PROGRAM_MESSAGEVERIFIER_H
#define MF_LIB_PROGRAM_MESSAGEVERIFIER_H

#include "mf/Program/Program.h"
#include "llvm/Support/Error.h"

namespace mf::program {

/// Proves of a program whose chunks all have certificates that each forward
/// takes loads and outputs, and each backward gradients, of its own
/// micro-batch, and that all micro-batches take the same of the same chunks.
llvm::Error verifyMessages(const Program &program);

} // namespace mf::program

#endif // MF_LIB_PROGRAM_MESSAGEVERIFIER_H
