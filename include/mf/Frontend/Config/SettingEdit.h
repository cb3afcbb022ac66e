//===- SettingEdit.h - Writes memory settings into a YAML -------*- C++ -*-===//
//
// Writes memory settings into a user's YAML: only the values that change are
// replaced; comments, order, anchors, quoting and everything else stay as they
// are, byte for byte.
//
//===----------------------------------------------------------------------===//

#ifndef MF_CONFIG_SETTINGEDIT_H
#define MF_CONFIG_SETTINGEDIT_H

#include "mf/Frontend/Config/LayerPlan.h"
#include "llvm/Support/Error.h"
#include <variant>

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

/// An item of layer_swap (no name) or op_swap. In the YAML of the dynamic graph
/// the prefetch counts layers instead of kernels.
struct SwapItem {
  std::string operatorName;
  int64_t backwardPrefetch = 1;
  std::vector<int64_t> layers;
  bool operator==(const SwapItem &other) const {
    return operatorName == other.operatorName &&
           backwardPrefetch == other.backwardPrefetch && layers == other.layers;
  }
};

/// The settings to write; a field without a value stays as it is in the file.
///
/// Tables count layers by stage, whether swap is on or not: with swap on they
/// are written as the layer indices that MindSpore Transformers wants then, and
/// where swap is switched on or off, recompute settings without a value are
/// rewritten so that they keep their meaning.
struct MemorySettings {
  std::optional<StageTable> offset;
  /// Full recompute. All zeros are written as False.
  std::optional<StageTable> recompute;
  /// Each pattern once. Patterns for no layers are not written; none at all is
  /// written as False.
  std::optional<std::vector<OperatorCounts>> selectRecompute;
  std::optional<std::vector<OperatorCounts>> selectCommRecompute;
  /// swap_config; none switches swap off. Items of one name and prefetch become
  /// one; of several items that name a layer the first counts.
  std::optional<std::vector<SwapItem>> swap;
  /// The tables count layers that `swap` swaps as a whole, but nothing of them
  /// is recomputed.
  bool leavesOutSwapped = false;
  /// Chunks per stage. More than one switches pipeline_interleave on, one
  /// switches it off unless the scheduler needs it.
  std::optional<int64_t> interleave;
  std::optional<int64_t> microBatches;
  std::optional<int64_t> batchSize;
  /// runner_config.gradient_accumulation_steps, which counts without stages.
  std::optional<int64_t> gradientAccumulation;
  /// pipeline_config.pipeline_scheduler, as "1f1b"; switches
  /// pipeline_interleave on if it needs that.
  std::optional<std::string> scheduler;
  /// The memory variant of the interleaved schedule, which has no key of its
  /// own: pipeline_scheduler seqsmartvpp.
  std::optional<bool> lessMemoryInterleave;
  std::optional<int64_t> stages, dataParallel, modelParallel, contextParallel,
      expertParallel;
  std::optional<bool> sequenceParallel, optimizerSharding;
};

/// The text with these settings. Keys are looked for where the reader of
/// training YAMLs (TrainingConfig.h) looks for them; missing ones are added to
/// their section, missing sections to the end. A value that says what is asked
/// for already, if in other words, stays. `names` is how the model names its
/// operators, without which select_recompute settings that name none are taken
/// to say something else.
///
/// Where a value has an anchor, its aliases follow. A key that a merge brings
/// into a section is overridden in the section. The result has been read again:
/// it has the settings, and all else is as before.
///
/// Errors, with file:line:column: the text cannot be read, before or with the
/// settings; a value or its section is an alias; settings that no YAML can have
/// (tables without values, a pattern given twice, swap and recompute where
/// model_config does not say how many layers there are).
llvm::Expected<std::string>
applySettings(llvm::StringRef yaml, llvm::StringRef fileName,
              const MemorySettings &settings,
              std::optional<NameFamily> names = std::nullopt);

/// A key by its path, as recompute_config.mp_comm_recompute, and what it is to
/// say: a bool, an int or a name.
struct KeyChange {
  std::string path;
  std::variant<bool, int64_t, std::string> value;
};

/// The text with other values of keys, written as applySettings does; what it
/// says of errors holds here too.
llvm::Expected<std::string> applyKeyChanges(llvm::StringRef yaml,
                                            llvm::StringRef fileName,
                                            llvm::ArrayRef<KeyChange> changes);

/// Reads the settings of a YAML: all fields have values, tables a row for each
/// chunk and a column for each stage. Without a value are `recompute`,
/// `selectRecompute` and `selectCommRecompute` where no table can say it: with
/// swap on, layers that are not the first ones of their mini stages; and
/// selections without names if `names` is not given.
MemorySettings readSettings(const TrainingConfig &config,
                            const StageMap &stages,
                            std::optional<NameFamily> names = std::nullopt);

/// The same where model_config says how many layers there are; an error if it
/// does not, or if no stage map can be made.
llvm::Expected<MemorySettings>
readSettings(const TrainingConfig &config,
             std::optional<NameFamily> names = std::nullopt);

} // namespace mf

#endif // MF_CONFIG_SETTINGEDIT_H
