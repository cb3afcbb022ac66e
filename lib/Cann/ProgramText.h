//===- ProgramText.h - The parts of an emitted program ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_CANN_PROGRAMTEXT_H
#define MF_LIB_CANN_PROGRAMTEXT_H

#include "mf/Program/Program.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <set>
#include <string>

namespace mf::cann {

class StageText;

/// Returns a name of the IR as an identifier of C++.
std::string getIdentifier(llvm::StringRef name);

/// Returns a text as a string literal of C++.
std::string quote(llvm::StringRef text);

/// Returns sizes in braces, for example "{4, 128}".
std::string getList(llvm::ArrayRef<int64_t> values);

/// Writes the call for an exchange with other ranks.
void emitExchange(const program::Program &program,
                  const program::InstructionList &list,
                  const program::Instruction &instruction,
                  llvm::ArrayRef<std::string> places, llvm::raw_ostream &os);

/// Returns the value of a kernel's attribute, or 0 or false if the kernel does
/// not have it.
std::string getAttribute(const AttributeSignature &signature,
                         const AttributeMap &attributes);

/// Returns a floating-point literal with the bits of `value`.
std::string getNumber(double value);

/// Writes the function that describes the statics of a stage to libmf-step.
void emitStatics(const program::StageProgram &stage, StageText &text);

/// Writes the other facts that libmf-step needs: the program's channels and the
/// settings of the run.
void emitFacts(const program::Program &program, llvm::raw_ostream &os);

/// Writes the routines and the step of a stage, and collects the kernels that
/// they launch. Fails with a LocatedError at an instruction without a
/// counterpart on CANN.
llvm::Error emitStep(const program::Program &program,
                     const program::StageProgram &stage,
                     std::set<std::string> &kernels, StageText &text);

} // namespace mf::cann

#endif // MF_LIB_CANN_PROGRAMTEXT_H
