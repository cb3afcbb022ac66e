//===- RowBlocks.cpp - Layers that run block by block ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/RowBlocks.h"
#include "SectionReader.h"
#include "mf/Frontend/Config/ModelKeys.h"

namespace mf {

/// More blocks than any sequence is cut into: a limit for hostile input.
static constexpr int64_t mostBlocks = 1 << 16;

int64_t resolveRowBlocks(const TrainingConfig &config, const RankLayout &ranks,
                         DiagnosticList &diagnostics) {
  const llvm::StringRef key = keys::rowBlocks.getName();
  Node value = config.model.config[key];
  if (value.isUndefinedOrNull())
    return 1;
  std::optional<int64_t> blocks = value.getInt();
  if (!blocks || *blocks > mostBlocks) {
    rejectValue(
        value, "an int up to " + llvm::Twine(mostBlocks) + " for " + quote(key),
        diagnostics);
    return 1;
  }
  if (*blocks <= 1 || ranks.modelParallel == 1)
    return 1;
  if (ranks.sequenceParallel || ranks.contextParallel > 1)
    return *blocks;
  diagnostics.error(value.getLocation(),
                    key + " " + llvm::Twine(*blocks) + " with model_parallel " +
                        llvm::Twine(ranks.modelParallel) +
                        " needs use_seq_parallel: True or context_parallel "
                        "above 1; expected one of them, or " +
                        key + ": 1");
  return 1;
}

} // namespace mf
