//===- MemoryReport.h - Planned and used memory of a rank -----*- C++ -*-===//

#ifndef MF_RUNNER_MEMORYREPORT_H
#define MF_RUNNER_MEMORYREPORT_H

#include "mf/Program/Program.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>

namespace mf::runner {

/// The plan of a rank's arena as the program states it, in bytes.
struct MemoryReport {
  /// The arena.
  int64_t planned = 0;
  /// The end of the furthest buffer that the step uses, its padding included.
  int64_t used = 0;
  /// Bytes alive at the moment when most are, by category, and as "unused"
  /// what the arena has beyond them: padding and gaps.
  std::map<std::string, int64_t> atPeak;
  /// Pinned host memory, and the end of the furthest buffer used there.
  int64_t hostPlanned = 0;
  int64_t hostUsed = 0;
};

/// `end` with padding to mf::deviceBufferAlignment, inside an arena of
/// `arenaBytes` bytes.
int64_t addPadding(int64_t end, int64_t arenaBytes);

/// The same for all ranks of a stage.
MemoryReport reportMemory(const program::StageProgram &stage);

/// Fails with a LocatedError if the arena of a stage's ranks is larger than
/// `hbmBytes`, or than the program's own limit if that is 0, and names the
/// categories at the peak, the largest first; and fails if all ranks together
/// need more memory than this machine has.
llvm::Error checkMemoryLimit(const program::Program &program, int64_t hbmBytes);

} // namespace mf::runner

#endif // MF_RUNNER_MEMORYREPORT_H
