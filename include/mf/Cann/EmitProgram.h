//===- EmitProgram.h - A step as a C++ program on CANN ----------*- C++ -*-===//

#ifndef MF_CANN_EMITPROGRAM_H
#define MF_CANN_EMITPROGRAM_H

#include "mf/Program/Program.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>

namespace mf::cann {

/// The texts of a program by the names of their files: the step as C++17 over
/// the public API of AscendCL and aclnn, what it includes, a CMakeLists.txt and
/// a README.md.
using ProgramFiles = std::map<std::string, std::string>;

/// Writes a program of one rank. Fails with a LocatedError at a launch of a
/// kernel that CANN has no counterpart of, and on what is not emitted yet.
llvm::Expected<ProgramFiles> emitProgram(const program::Program &program);

} // namespace mf::cann

#endif // MF_CANN_EMITPROGRAM_H
