//===- ProgramAccount.h - What a program asks of a device -------*- C++ -*-===//

#ifndef MF_CANN_PROGRAMACCOUNT_H
#define MF_CANN_PROGRAMACCOUNT_H

#include "mf/Program/Program.h"
#include "llvm/Support/raw_ostream.h"

namespace mf::cann {

/// The work of a rank of a stage in a step.
struct StepAccount {
  int64_t launches = 0;
  /// Functions of aclnn that the launches call, loops counted once.
  int64_t functions = 0;
  int64_t copies = 0, exchanges = 0, records = 0, waits = 0;
  /// Launches of kernels that CANN has no counterpart of, by kernel.
  std::map<std::string, int64_t> missing;
};

StepAccount countStep(const program::Program &program,
                      const program::StageProgram &stage);

/// Prints for each stage what it does in a step, and its memory, streams and
/// events beside what a device has.
void printAccount(const program::Program &program, llvm::raw_ostream &os);

} // namespace mf::cann

#endif // MF_CANN_PROGRAMACCOUNT_H
