//===- SettingKeys.h - The keys that express a setting ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_FRONTEND_CONFIG_SETTINGKEYS_H
#define MF_LIB_FRONTEND_CONFIG_SETTINGKEYS_H

#include "SettingValue.h"
#include "mf/Frontend/Config/MemorySettings.h"
#include "mf/Frontend/Config/ModelKeys.h"
#include "mf/Frontend/Config/PipelineSchedulers.h"
#include "mf/Layers/LayerSettings.h"

namespace mf {

/// Returns the stage map of a YAML. Emits an error and returns none if
/// model_config does not contain the number of layers. `offset`, if given,
/// replaces the YAML's.
std::optional<StageMap> makeStageMap(const TrainingConfig &config,
                                     DiagnosticList &diagnostics,
                                     const StageTable *offset = nullptr);

/// For each mini stage, returns the number of its layers minus the average.
StageTable getOffsets(const StageMap &stages);

/// Limits the counts of a recompute table to the existing layers. The result
/// has a row for each chunk. It is an error at `location` if the table, called
/// `what` in the message, has the wrong shape.
StageTable normalizeTable(const StageMap &stages, const StageTable &table,
                          llvm::StringRef what, const Location &location,
                          DiagnosticList &diagnostics);

/// Returns the layers that a table of the right shape covers, in ascending
/// order.
std::vector<int64_t> getCoveredLayers(const StageMap &stages,
                                      const StageTable &table);

bool hasNoLayers(const StageTable &table);

/// Returns the same swaps with one item for each name and prefetch. Each layer
/// of a name is in the first item that has it.
std::vector<SwapItem> groupByPrefetch(llvm::ArrayRef<SwapItem> items);

/// Return the path of a key, from its record.
std::string getPath(const KnownKey &key);
template <typename Part, typename Value>
std::string getPath(Value Part::*member) {
  return getPath(known::findKey(member));
}
std::string getPath(LayerKey key);
/// Returns the path of a key without a member, which other sections may have,
/// too.
inline std::string getPath(const KnownSection &section, const KnownKey &key) {
  return (section.name + "." + key.name).str();
}
inline std::string getPath(const ModelKey &key) {
  return getPath(modelSection, known::modelConfig) + "." + key.getName().str();
}

/// True if a setting is given and differs from the old one.
template <typename Value>
bool isChanged(const std::optional<Value> &wanted,
               const std::optional<Value> &old) {
  return wanted && (!old || *wanted != *old);
}

/// Settings that are the value of one key.
struct SettingKey {
  std::string path;
  const KnownKey *key;
};
llvm::ArrayRef<SettingKey> getSettingKeys();

/// Returns a list for one row and a list of lists for several.
SettingValue getTableValue(const StageTable &table);

/// Returns all paths of keys that settings may be written to.
llvm::ArrayRef<std::string> getSettingPaths();

/// Adds an error for each setting that no YAML can have.
void checkSettings(const MemorySettings &settings, llvm::StringRef fileName,
                   DiagnosticList &diagnostics);

/// Returns the keys that give `config` the requested sizes and schedule.
SettingValue getScheduleKeys(const MemorySettings &settings,
                             const TrainingConfig &config,
                             DiagnosticList &diagnostics);

/// Returns the key that assigns the layers to stages as requested. The sizes
/// and the schedule of the config are final.
SettingValue getOffsetKeys(const StageTable &offset,
                           const TrainingConfig &config,
                           DiagnosticList &diagnostics);

SettingValue getSwapKeys(llvm::ArrayRef<SwapItem> items,
                         const TrainingConfig &config);

/// Returns the keys for recompute. All other keys of the config are final, but
/// `isSwapOn` says whether swap will be enabled.
SettingValue getRecomputeKeys(const MemorySettings &settings,
                              const TrainingConfig &config, bool isSwapOn,
                              DiagnosticList &diagnostics);

/// Returns the keys of the dynamic graph's YAML, read as `config`, that change
/// the `old` settings into the requested ones: sizes, batches, schedule and
/// layers per stage. It is an error if a changed setting cannot be expressed in
/// the format: recompute of collectives, and some schedules.
SettingValue getDynamicLayoutKeys(const MemorySettings &settings,
                                  const MemorySettings &old,
                                  const TrainingConfig &config,
                                  llvm::StringRef fileName,
                                  DiagnosticList &diagnostics);

/// Returns the keys of the dynamic graph's YAML for recomputed layers and
/// modules. All other keys of the config are final. Patterns of the settings
/// name whole modules. `document` is the unchanged YAML.
SettingValue getDynamicRecomputeKeys(const MemorySettings &settings,
                                     const MemorySettings &old,
                                     const Node &document,
                                     const TrainingConfig &config,
                                     DiagnosticList &diagnostics);

/// Returns the keys for swap. The prefetch of settings counts layers here, and
/// it is an error if items differ in it, since the format has one for all.
SettingValue getDynamicSwapKeys(const MemorySettings &settings,
                                const MemorySettings &old,
                                const TrainingConfig &config,
                                DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_LIB_FRONTEND_CONFIG_SETTINGKEYS_H
