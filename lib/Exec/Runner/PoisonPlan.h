//===- PoisonPlan.h - Memory to poison after instructions -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_RUNNER_POISONPLAN_H
#define MF_LIB_EXEC_RUNNER_POISONPLAN_H

#include "mf/Program/Program.h"
#include "llvm/ADT/ArrayRef.h"
#include <map>

namespace mf::runner {

/// The device memory whose last use on the compute stream ends with an
/// instruction, and that nobody may read again. Buffers that other streams use
/// are left out, because the compute stream may be ahead of those.
class PoisonPlan {
public:
  struct Range {
    int64_t offset = 0;
    int64_t bytes = 0;
  };

  explicit PoisonPlan(const program::StageProgram &stage);

  /// Returns the ranges for an instruction of the routine called at `position`
  /// of the step.
  llvm::ArrayRef<Range> getRanges(uint32_t position,
                                  uint32_t instruction) const;

private:
  std::map<std::pair<uint32_t, uint32_t>, std::vector<Range>> ranges;
};

} // namespace mf::runner

#endif // MF_LIB_EXEC_RUNNER_POISONPLAN_H
