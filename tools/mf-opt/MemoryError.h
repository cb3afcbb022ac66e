//===- MemoryError.h - The error of a step that does not fit ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_OPT_MEMORYERROR_H
#define MF_TOOLS_MF_OPT_MEMORYERROR_H

#include "passes/plan-memory/MemoryLimit.h"
#include <mutex>

namespace mf::tools {

/// Collects the stages that do not fit, and prints them as one error.
class MemoryError {
public:
  /// Safe to call from several threads.
  void add(passes::StageOverflow overflow);

  bool empty() const { return stages.empty(); }
  int64_t getLimitBytes() const {
    return stages.empty() ? 0 : stages.front().limitBytes;
  }

  /// Prints the fullest stage in about ten lines, at the place of the limit in
  /// the YAML, or, with `allStages`, all that is known of each stage. `hbm` is
  /// the limit of the command line, empty if it has none.
  void print(llvm::StringRef yaml, llvm::StringRef fileName,
             llvm::StringRef hbm, bool allStages);

private:
  std::mutex isAdding;
  std::vector<passes::StageOverflow> stages;
};

} // namespace mf::tools

#endif // MF_TOOLS_MF_OPT_MEMORYERROR_H
