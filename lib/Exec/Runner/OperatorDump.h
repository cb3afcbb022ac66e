//===- OperatorDump.h - Dumps results of instructions -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_RUNNER_OPERATORDUMP_H
#define MF_LIB_EXEC_RUNNER_OPERATORDUMP_H

#include "IssueList.h"
#include "mf/Exec/Ranks/TensorDump.h"

namespace mf::runner {

/// Reports the results of instructions in a stage's chunks to a TensorDump.
class OperatorDump {
public:
  /// Fails where the calls of a frame are no tasks. The dump and the program
  /// must outlive it.
  static llvm::Expected<OperatorDump> create(const program::Program &program,
                                             const program::StageProgram &stage,
                                             ranks::TensorDump &dump);

  /// Must be called right after instruction `number` of a list, on the stream
  /// that ran it.
  void add(int64_t rank, const IssueContext &context, uint32_t number) const;

private:
  OperatorDump(const program::Program &program,
               const program::StageProgram &stage, ranks::TensorDump &dump)
      : program(&program), stage(&stage), dump(&dump) {}

  ranks::MadeTensor getMade(const program::InstructionList &list,
                            const program::Instruction &instruction,
                            const IssueContext &context, size_t access) const;

  const program::Program *program;
  const program::StageProgram *stage;
  ranks::TensorDump *dump;
  /// For each position in the step, whether it is a call of a chunk's forward.
  std::vector<bool> isForward;
};

} // namespace mf::runner

#endif // MF_LIB_EXEC_RUNNER_OPERATORDUMP_H
