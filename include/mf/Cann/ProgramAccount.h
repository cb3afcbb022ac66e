//===- ProgramAccount.h - What a program asks of a device -------*- C++ -*-===//

#ifndef MF_CANN_PROGRAMACCOUNT_H
#define MF_CANN_PROGRAMACCOUNT_H

#include "mf/Program/Program.h"
#include "llvm/Support/raw_ostream.h"

namespace mf::cann {

/// Counts the work that a rank of a stage does in one step.
struct StepAccount {
  int64_t launches = 0;
  /// The number of calls of aclnn functions in the text of all launched
  /// kernels. A call inside a loop counts once, since the number of iterations
  /// depends on the shapes.
  int64_t functions = 0;
  int64_t copies = 0, exchanges = 0, records = 0, waits = 0;
  /// The number of launches of each kernel that CANN has no counterpart of, by
  /// the kernel's name.
  std::map<std::string, int64_t> missing;
};

/// Counts the step of a stage, including the routines that it calls.
StepAccount countStep(const program::Program &program,
                      const program::StageProgram &stage);

/// Prints for each stage the work of a step, the sizes of its memory, and its
/// streams and events together with the limits of a device.
void printAccount(const program::Program &program, llvm::raw_ostream &os);

} // namespace mf::cann

#endif // MF_CANN_PROGRAMACCOUNT_H
