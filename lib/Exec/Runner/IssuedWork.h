//===- IssuedWork.h - The work of each kind of instruction -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_RUNNER_ISSUEDWORK_H
#define MF_LIB_EXEC_RUNNER_ISSUEDWORK_H

#include "IssueList.h"

namespace mf::runner {

/// The list that an instruction belongs to, and the objects that its indices
/// refer to.
struct WorkSource {
  const program::Program &program;
  const program::InstructionList &list;
  /// The number of buffers that the list takes as arguments.
  uint32_t numArguments = 0;
  /// Resolves the addresses of operands in calls.
  const program::StepWalker &walker;
  llvm::ArrayRef<std::unique_ptr<Kernel>> kernels;
};

/// Returns the work of `instruction`, instruction `number` of the list; null if
/// it has none. The program and the kernels must outlive it.
std::unique_ptr<IssuedWork> makeWork(const WorkSource &source,
                                     const program::Instruction &instruction,
                                     uint32_t number);

} // namespace mf::runner

#endif // MF_LIB_EXEC_RUNNER_ISSUEDWORK_H
