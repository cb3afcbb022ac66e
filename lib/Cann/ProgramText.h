//===- ProgramText.h - The parts of an emitted program ----------*- C++ -*-===//

#ifndef MF_LIB_CANN_PROGRAMTEXT_H
#define MF_LIB_CANN_PROGRAMTEXT_H

#include "mf/Program/Program.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <set>
#include <string>

namespace mf::cann {

class StageText;

/// A name of the IR as one of C++.
std::string getIdentifier(llvm::StringRef name);

/// A text as a literal of C++.
std::string quote(llvm::StringRef text);

/// Sizes between braces: "{4, 128}".
std::string getList(llvm::ArrayRef<int64_t> values);

/// Writes a call that exchanges with other ranks.
void emitExchange(const program::Program &program,
                  const program::InstructionList &list,
                  const program::Instruction &instruction,
                  llvm::ArrayRef<std::string> places, llvm::raw_ostream &os);

/// The value of a kernel's attribute; 0 or false if it is not there.
std::string getAttribute(const AttributeSignature &signature,
                         const AttributeMap &attributes);

/// The memory that a launch has for what CANN needs beside the operands, as
/// arguments behind its stream: ", call.scratch + 512, 640", or nothing. `last`
/// is the place of its last access. Fails with a LocatedError if there is too
/// little.
llvm::Expected<std::string>
getWorkspace(const program::Instruction &instruction,
             const program::LaunchedKernel &kernel, llvm::StringRef last);

/// A number of C++ that has the bits of `value`.
std::string getNumber(double value);

/// Writes the function that tells libmf-step the statics of a stage.
void emitStatics(const program::StageProgram &stage, StageText &text);

/// Writes what else libmf-step has to know of the program: its channels and the
/// settings of the run.
void emitFacts(const program::Program &program, llvm::raw_ostream &os);

/// Writes the routines and the step of a stage, and gathers which kernels they
/// launch. Fails with a LocatedError at what CANN has no counterpart of.
llvm::Error emitStep(const program::Program &program,
                     const program::StageProgram &stage,
                     std::set<std::string> &kernels, StageText &text);

} // namespace mf::cann

#endif // MF_LIB_CANN_PROGRAMTEXT_H
