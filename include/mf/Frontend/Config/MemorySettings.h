//===- MemorySettings.h - Settings of memory as values ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_FRONTEND_CONFIG_MEMORYSETTINGS_H
#define MF_FRONTEND_CONFIG_MEMORYSETTINGS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mf {

/// Numbers by chunk row and stage, as in `offset` and `recompute`. One row is
/// written as a list, several as a list of lists.
using StageTable = std::vector<std::vector<int64_t>>;

/// A pattern of operators, and for each mini stage the number of layers,
/// counted from its first, that it applies to.
struct OperatorCounts {
  /// The pattern in the form of select_recompute: `feed_forward\.mul`.
  std::string pattern;
  StageTable layers;
  bool operator==(const OperatorCounts &other) const {
    return pattern == other.pattern && layers == other.layers;
  }
};

/// An item of layer_swap (no name) or op_swap. In the YAML of the dynamic graph
/// the prefetch distance counts layers instead of kernels.
struct SwapItem {
  std::string operatorName;
  int64_t backwardPrefetch = 1;
  std::vector<int64_t> layers;
  bool operator==(const SwapItem &other) const {
    return operatorName == other.operatorName &&
           backwardPrefetch == other.backwardPrefetch && layers == other.layers;
  }
};

/// The settings to write. A field without a value is not changed in the file.
///
/// Tables count layers by stage, whether swap is on or not. They are those of
/// the YAML: where its offset leaves out layers that predict later tokens
/// (StageMap::getNumCounted), tables do, too. With swap on they
/// are written as the layer indices that MindSpore Transformers then requires.
/// If swap is switched on or off, recompute settings without a value are
/// rewritten so that they keep their meaning.
struct MemorySettings {
  std::optional<StageTable> offset;
  /// Full recompute. All zeros are written as False.
  std::optional<StageTable> recompute;
  /// Each pattern occurs once. Patterns for no layers are not written, and an
  /// empty list is written as False.
  std::optional<std::vector<OperatorCounts>> selectRecompute;
  std::optional<std::vector<OperatorCounts>> selectCommRecompute;
  /// The value of swap_config. An empty list switches swap off. Items of the
  /// same name and prefetch distance are merged. If several items name a layer,
  /// the first one applies.
  std::optional<std::vector<SwapItem>> swap;
  /// True if the tables count layers that `swap` swaps as a whole, although
  /// none of their operators is recomputed.
  bool leavesOutSwapped = false;
  /// The chunks per stage. More than one enables pipeline_interleave. One
  /// disables it unless the scheduler needs it.
  std::optional<int64_t> interleave;
  std::optional<int64_t> microBatches;
  std::optional<int64_t> batchSize;
  /// runner_config.gradient_accumulation_steps, which is used without stages.
  std::optional<int64_t> gradientAccumulation;
  /// pipeline_config.pipeline_scheduler, for example "1f1b". Enables
  /// pipeline_interleave if the scheduler needs it.
  std::optional<std::string> scheduler;
  /// The memory variant of the interleaved schedule. It has no key of its own:
  /// it is pipeline_scheduler seqsmartvpp.
  std::optional<bool> lessMemoryInterleave;
  std::optional<int64_t> stages, dataParallel, modelParallel, contextParallel,
      expertParallel;
  std::optional<bool> sequenceParallel, optimizerSharding;
};

} // namespace mf

#endif // MF_FRONTEND_CONFIG_MEMORYSETTINGS_H
