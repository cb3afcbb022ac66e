//===- MemoryReport.h - Planned and used memory of a rank -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_EXEC_RUNNER_MEMORYREPORT_H
#define MF_EXEC_RUNNER_MEMORYREPORT_H

#include "mf/Program/Program.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>

namespace mf::runner {

/// The memory plan of a rank as the program states it, in bytes.
struct MemoryReport {
  /// The size of the arena.
  int64_t planned = 0;
  /// The highest end of a buffer that the step uses, including its padding.
  int64_t used = 0;
  /// The live bytes at the peak, by category. The entry "unused" is the rest of
  /// the arena: padding and gaps.
  std::map<std::string, int64_t> atPeak;
  /// The size of pinned host memory, and the highest end of a buffer used
  /// there.
  int64_t hostPlanned = 0;
  int64_t hostUsed = 0;
};

/// Returns `end` padded to mf::deviceBufferAlignment, but at most `arenaBytes`.
int64_t addPadding(int64_t end, int64_t arenaBytes);

/// Returns the report for a stage, which is the same for all of its ranks.
MemoryReport reportMemory(const program::StageProgram &stage);

/// Fails with a LocatedError if the arena of a stage's ranks is larger than
/// `hbmBytes`, unless that is 0. The error names the categories at the peak,
/// the largest first.
llvm::Error checkDeviceMemory(const program::Program &program,
                              int64_t hbmBytes);

/// Does the same; if `hbmBytes` is 0, the limit is the program's own. Also
/// fails if all ranks together need more memory than this machine has.
llvm::Error checkMemoryLimit(const program::Program &program, int64_t hbmBytes);

} // namespace mf::runner

#endif // MF_EXEC_RUNNER_MEMORYREPORT_H
