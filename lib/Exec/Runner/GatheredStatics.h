//===- GatheredStatics.h - Statics of ranks of any process ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_RUNNER_GATHEREDSTATICS_H
#define MF_LIB_EXEC_RUNNER_GATHEREDSTATICS_H

#include "mf/Exec/Runner/ProcessGroup.h"
#include "mf/Exec/Runner/Runner.h"

namespace mf::runner {

/// Brings statics to the process that writes files, one at a time.
class GatheredStatics {
public:
  /// `processes` is null if all ranks of interest live in this process.
  GatheredStatics(Runner &runner, ProcessGroup *processes)
      : runner(runner), processes(processes) {}

  bool isWriter() const { return !processes || processes->isFirst(); }

  /// Returns the bytes of a static, until the next call, in the writer, and
  /// nothing in other processes. All processes call it for the same statics in
  /// the same order.
  llvm::Expected<llvm::ArrayRef<uint8_t>> get(int64_t rank, uint32_t number);

private:
  Runner &runner;
  ProcessGroup *processes;
  /// Bytes from another process.
  std::vector<uint8_t> received;
};

} // namespace mf::runner

#endif // MF_LIB_EXEC_RUNNER_GATHEREDSTATICS_H
