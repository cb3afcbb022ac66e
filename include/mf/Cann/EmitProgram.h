//===- EmitProgram.h - A step as a C++ program on CANN ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_CANN_EMITPROGRAM_H
#define MF_CANN_EMITPROGRAM_H

#include "mf/Program/Program.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <string>

namespace mf::cann {

/// The files of an emitted program, keyed by file name: the step as C++17
/// source that uses the public API of AscendCL and aclnn, the headers that it
/// includes, a CMakeLists.txt and a README.md.
using ProgramFiles = std::map<std::string, std::string>;

/// Emits the program that each rank runs, with the steps of all stages. Fails
/// with a LocatedError at a launch of a kernel that CANN has no counterpart
/// for, and for features that the emitter does not support.
llvm::Expected<ProgramFiles> emitProgram(const program::Program &program);

/// Prints for each stage the work of a step, the sizes of its memory, and its
/// streams and events together with the limits of a device.
void printAccount(const program::Program &program, llvm::raw_ostream &os);

} // namespace mf::cann

#endif // MF_CANN_EMITPROGRAM_H
