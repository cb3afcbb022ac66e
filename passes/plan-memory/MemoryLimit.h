//===- MemoryLimit.h - Limit of a stage's device memory ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_PLAN_MEMORY_MEMORYLIMIT_H
#define MF_PASSES_PLAN_MEMORY_MEMORYLIMIT_H

#include "dialects/ascend/AscendDialect.h"
#include <optional>
#include <string>
#include <vector>

namespace mf::passes {

/// A stage that does not fit, in the words of messages.
struct StageOverflow {
  int64_t stage = 0;
  int64_t bytes = 0, limitBytes = 0;
  /// True if the trainer of the YAML holds the bytes, false if the program
  /// needs them.
  bool isOfTrainer = false;
  /// The task and the operator at the peak.
  std::string moment;
  /// The bytes of categories at the peak, the largest first.
  std::vector<std::pair<std::string, int64_t>> categories;
  /// The largest values at the peak, with their categories.
  std::vector<std::pair<std::string, int64_t>> largest;
  /// What recompute and swap of layers of this stage would save, the most
  /// first, and the estimates for the stage that follow from it.
  std::vector<std::string> savings, estimates;

  /// Returns `stage 1 needs .. of device memory, but .. are allowed`, or the
  /// same of the trainer.
  std::string describe() const;
  std::vector<std::string> listFacts() const;
  /// Returns the most important ones in few strings.
  std::vector<std::string> summarize() const;
};

/// The value of an option `hbm` that disables the limit, including that of the
/// program.
inline constexpr llvm::StringLiteral noMemoryLimit = "none";

/// Returns the bytes of device memory of a rank: `hbm`, a size such as 54GB or
/// noMemoryLimit, or the program's hbm_limit_bytes if `hbm` is empty; none for
/// no limit. Emits an error on `program` if `hbm` is neither.
mlir::FailureOr<std::optional<int64_t>>
getMemoryLimit(ascend::ProgramOp program, llvm::StringRef hbm);

} // namespace mf::passes

#endif // MF_PASSES_PLAN_MEMORY_MEMORYLIMIT_H
