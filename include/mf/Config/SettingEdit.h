//===- SettingEdit.h - A YAML with other settings -------------*- C++ -*-===//
//
// Writes memory settings into a user's YAML: only the values that change are
// replaced; comments, order, anchors, quoting and everything else stay as they
// are, byte for byte.
//
//===----------------------------------------------------------------------===//

#ifndef MF_CONFIG_SETTINGEDIT_H
#define MF_CONFIG_SETTINGEDIT_H

#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mf {

/// Numbers by chunk row and stage, as `offset` and `recompute` have them; one
/// row is written as a list, several as a list of lists.
using StageTable = std::vector<std::vector<int64_t>>;

/// Operators of the first layers of each mini stage.
struct OperatorCounts {
  /// As select_recompute has it: `feed_forward\.mul`.
  std::string pattern;
  StageTable layers;
  bool operator==(const OperatorCounts &other) const {
    return pattern == other.pattern && layers == other.layers;
  }
};

/// An item of layer_swap (no name) or op_swap.
struct SwapItem {
  std::string operatorName;
  int64_t backwardPrefetch = 1;
  std::vector<int64_t> layers;
};

/// What is to be written; what has no value stays as it is in the file.
struct MemorySettings {
  std::optional<StageTable> offset;
  /// Full recompute. All zeros are written as False.
  std::optional<StageTable> recompute;
  std::optional<std::vector<OperatorCounts>> selectRecompute;
  std::optional<std::vector<OperatorCounts>> selectCommRecompute;
  /// swap_config; none switches swap off.
  std::optional<std::vector<SwapItem>> swap;
  std::optional<int64_t> interleave;
  std::optional<int64_t> microBatches;
  std::optional<int64_t> batchSize;
  /// pipeline_config.pipeline_scheduler, as "1f1b".
  std::optional<std::string> scheduler;
  /// The memory variant of the interleaved schedule.
  std::optional<bool> lessMemoryInterleave;
  std::optional<int64_t> stages, dataParallel, modelParallel, contextParallel,
      expertParallel;
  std::optional<bool> sequenceParallel, optimizerSharding;
};

/// The text with these settings. Keys are looked for where the reader of
/// training YAMLs (TrainingConfig.h) looks for them; missing ones are added to
/// their section, missing sections to the end. The result, read again, has the
/// settings. An error if the text cannot be read, or if a value stands where it
/// cannot be replaced (in an alias or a merge), with file:line:column.
llvm::Expected<std::string> applySettings(llvm::StringRef yaml,
                                          llvm::StringRef fileName,
                                          const MemorySettings &settings);

} // namespace mf

#endif // MF_CONFIG_SETTINGEDIT_H
