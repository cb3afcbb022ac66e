//===- ProgramAccount.h - Resources that a program needs --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_CANN_PROGRAMACCOUNT_H
#define MF_CANN_PROGRAMACCOUNT_H

#include "mf/Program/Program.h"
#include "llvm/Support/raw_ostream.h"

namespace mf::cann {

/// Prints for each stage the work of a step, the sizes of its memory, and its
/// streams and events together with the limits of a device.
void printAccount(const program::Program &program, llvm::raw_ostream &os);

} // namespace mf::cann

#endif // MF_CANN_PROGRAMACCOUNT_H
