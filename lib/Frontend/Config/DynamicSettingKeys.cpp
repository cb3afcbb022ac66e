//===- DynamicSettingKeys.cpp - Settings in the other format --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "DynamicSettingKeys.h"
#include "DynamicConfig.h"
#include "DynamicLayers.h"

namespace mf {

namespace {

/// The keys of settings that do not need the others' to be settled.
class DynamicSettingKeys {
public:
  DynamicSettingKeys(const MemorySettings &settings, const MemorySettings &old,
                     const TrainingConfig &config, llvm::StringRef fileName,
                     DiagnosticList &diagnostics)
      : settings(settings), old(old), config(config), fileName(fileName),
        diagnostics(diagnostics) {}

  SettingValue take() {
    refuse();
    setSizes();
    if (isChanged(settings.offset, old.offset))
      setStages();
    return std::move(keys);
  }

private:
  void refuse();
  void setSizes();
  void setStages();

  const MemorySettings &settings, &old;
  const TrainingConfig &config;
  llvm::StringRef fileName;
  DiagnosticList &diagnostics;
  SettingValue keys;
};

} // namespace

template <typename Value>
static bool isEmptyList(const std::optional<std::vector<Value>> &list) {
  return !list || list->empty();
}

void DynamicSettingKeys::refuse() {
  auto reject = [&](llvm::StringRef what) {
    diagnostics.error({fileName.str(), 0, 0},
                      "the YAML of the dynamic graph cannot express " + what +
                          "; expected layers and modules that are recomputed, "
                          "or a YAML of the static graph, which mf-translate "
                          "--convert-yaml makes");
  };
  const auto &collectives = settings.selectCommRecompute;
  if (isChanged(collectives, old.selectCommRecompute) &&
      !(isEmptyList(collectives) && isEmptyList(old.selectCommRecompute)))
    reject("collectives to recompute");
  if (isChanged(settings.scheduler, old.scheduler) &&
      *settings.scheduler != "1f1b" && *settings.scheduler != "gpipe")
    reject("pipeline_scheduler " + *settings.scheduler);
}

void DynamicSettingKeys::setSizes() {
  auto set = [&](const std::optional<int64_t> &wanted,
                 const std::optional<int64_t> &current, llvm::StringRef path) {
    if (isChanged(wanted, current))
      keys.set(path, SettingValue::fromInt(*wanted));
  };
  set(settings.stages, old.stages, "parallelism.pipeline_parallel");
  set(settings.modelParallel, old.modelParallel, "parallelism.tensor_parallel");
  set(settings.contextParallel, old.contextParallel,
      "parallelism.context_parallel");
  set(settings.expertParallel, old.expertParallel,
      "parallelism.expert_parallel");
  set(settings.interleave, old.interleave,
      "parallelism.pipeline_parallel_interleave_num");
  set(settings.batchSize, old.batchSize, "training.local_batch_size");
  if (isChanged(settings.scheduler, old.scheduler))
    keys.set("parallelism.pipeline_parallel_schedule",
             SettingValue::fromName(*settings.scheduler));
  if (isChanged(settings.modelParallel, old.modelParallel) &&
      *settings.modelParallel > 1)
    keys.set("parallelism.sequence_parallel", SettingValue::fromBool(true));
  const int64_t stages = settings.stages.value_or(old.stages.value_or(1));
  const auto &batches =
      stages > 1 ? settings.microBatches : settings.gradientAccumulation;
  const auto &current =
      stages > 1 ? old.microBatches : old.gradientAccumulation;
  if (isChanged(batches, current) ||
      isChanged(settings.batchSize, old.batchSize))
    keys.set("training.global_batch_size",
             SettingValue::fromInt(
                 batches.value_or(current.value_or(1)) *
                 settings.batchSize.value_or(old.batchSize.value_or(1)) *
                 settings.dataParallel.value_or(old.dataParallel.value_or(1))));
}

/// The ranges do not name layers of multi-token prediction: these follow the
/// last named layer.
void DynamicSettingKeys::setStages() {
  const DynamicDepth depth = readDynamicDepth(config.model.config);
  const StageTable &offset = *settings.offset;
  const auto chunks = static_cast<int64_t>(offset.size());
  const auto stages =
      static_cast<int64_t>(offset.empty() ? 0 : offset.front().size());
  if (stages < 2)
    return;
  const int64_t average = depth.getAll() / (stages * chunks);
  std::vector<std::string> rows(static_cast<size_t>(stages));
  int64_t next = 0;
  for (const std::vector<int64_t> &row : offset)
    for (size_t stage = 0; stage < rows.size(); ++stage) {
      const int64_t first = next;
      next = std::min(next + average + row[stage], depth.layers);
      if (next <= first) {
        diagnostics.error({fileName.str(), 0, 0},
                          "the YAML of the dynamic graph cannot express a "
                          "stage without layers");
        return;
      }
      rows[stage] +=
          (rows[stage].empty() ? "" : ", ") + printLayerRange(first, next - 1);
    }
  SettingValue list = SettingValue::makeList();
  for (const std::string &row : rows)
    list.elements.push_back(SettingValue::fromPattern(row));
  keys.set(dynamic::stagePath, std::move(list));
}

SettingValue getDynamicLayoutKeys(const MemorySettings &settings,
                                  const MemorySettings &old,
                                  const TrainingConfig &config,
                                  llvm::StringRef fileName,
                                  DiagnosticList &diagnostics) {
  return DynamicSettingKeys(settings, old, config, fileName, diagnostics)
      .take();
}

} // namespace mf
