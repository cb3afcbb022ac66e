//===- StepEmitter.h - Writes the functions of a stage ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_CANN_STEPEMITTER_H
#define MF_LIB_CANN_STEPEMITTER_H

#include "StageText.h"
#include "mf/Program/StepWalker.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <set>

namespace mf::cann {

/// Writes the functions of one stage's program.
class StepEmitter {
public:
  StepEmitter(const program::Program &program,
              const program::StageProgram &stage,
              std::set<std::string> &kernels, StageText &text)
      : program(program), stage(stage), table(stage), walker(stage, table),
        kernels(kernels), text(text) {}

  llvm::Error emit();

private:
  llvm::Error emitRoutine(const program::Routine &routine);
  llvm::Error emitInstruction(const program::InstructionList &list,
                              uint32_t number);
  llvm::Error emitWork(const program::InstructionList &list,
                       const program::Instruction &instruction,
                       uint32_t number);
  llvm::Error emitLaunch(const program::InstructionList &list,
                         const program::Instruction &instruction);
  void emitExchange(const program::InstructionList &list,
                    const program::Instruction &instruction);
  void emitCopy(const program::InstructionList &list,
                const program::Instruction &instruction);
  void emitCall(const program::InstructionList &list, const program::Call &call,
                uint32_t position);
  llvm::Error emitPart(llvm::StringRef name, llvm::StringRef comment,
                       uint32_t begin, uint32_t end);
  llvm::Error emitFunctions(const FunctionHead &head,
                            const program::InstructionList &list,
                            uint32_t begin, uint32_t end,
                            llvm::function_ref<void(uint32_t)> emitBehind);
  std::string takeStatements();
  void emitMirrors();
  void emitRecord();
  std::string getEvent(const program::AwaitedEvent &event) const;
  std::string getPlace(const program::Buffer &buffer, int64_t offset) const;
  void emitNames();
  std::string getTensor(const program::InstructionList &list,
                        const program::Operand &operand,
                        const TensorShape &shape) const;
  std::string getOperands(const program::InstructionList &list,
                          const program::Instruction &instruction,
                          const program::LaunchedKernel &kernel) const;

  const program::Program &program;
  const program::StageProgram &stage;
  program::InstanceTable table;
  program::StepWalker walker;
  std::set<std::string> &kernels;
  StageText &text;
  /// The statements of the function that is being written.
  std::string statements;
  llvm::raw_string_ostream os{statements};
  /// The channels that exchanges are on, and whether they send.
  std::set<std::pair<uint32_t, bool>> uses;
  /// The positions of calls in the step that are the forward of a chunk.
  std::set<uint32_t> forwards;
  /// True if the list that is being written is that of a routine.
  bool inRoutine = false;
};

} // namespace mf::cann

#endif // MF_LIB_CANN_STEPEMITTER_H
