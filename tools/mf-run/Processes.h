//===- Processes.h - mf-run as one of several processes --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_RUN_PROCESSES_H
#define MF_TOOLS_MF_RUN_PROCESSES_H

#include "mf/Exec/Runner/ProcessGroup.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>

namespace mf::tools {

/// Connects to the other processes that mpirun started. Returns null, without
/// using MPI, if there are none. `program` is argv[0].
llvm::Expected<std::unique_ptr<runner::ProcessGroup>>
joinProcesses(const char *program);

/// The messages of mf-run. Several processes find most errors at the same time,
/// so each process collects its own, and one process prints them at the end.
class Messages {
public:
  /// `processes` is null for a single process. `tool` is named before errors.
  Messages(runner::ProcessGroup *processes, std::string tool);
  Messages(const Messages &) = delete;
  Messages &operator=(const Messages &) = delete;

  /// Returns the stream for errors and warnings.
  llvm::raw_ostream &getErrors() {
    if (stream)
      return *stream;
    return llvm::errs();
  }

  /// Prints an error; returns 1.
  int fail(const llvm::Twine &message);
  /// Prints errors, those with places as compilers do; returns 1.
  int fail(llvm::Error error);
  /// Forgets the errors so far, which several processes have not printed yet.
  void discard() { text.clear(); }
  /// Prints a remark for the user.
  void note(llvm::StringRef text);

  /// Ends the run: with a code other than 0, in all processes. Returns the code
  /// that main returns.
  int finish(int code);

private:
  runner::ProcessGroup *processes;
  std::string tool;
  std::string text;
  std::optional<llvm::raw_string_ostream> stream;
};

} // namespace mf::tools

#endif // MF_TOOLS_MF_RUN_PROCESSES_H
