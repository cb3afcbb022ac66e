//===- DynamicSettingKeys.cpp - Settings in the other format --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "DynamicConfig.h"
#include "SettingKeys.h"
#include "llvm/ADT/STLExtras.h"

namespace mf {

using namespace dynamic;

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
    reject(parallelism::schedule.counterpart().name.str() + " " +
           *settings.scheduler);
}

void DynamicSettingKeys::setSizes() {
  auto set = [&](const std::optional<int64_t> &wanted,
                 const std::optional<int64_t> &current, const DynamicKey &key) {
    if (isChanged(wanted, current))
      keys.set(key.getPath(), SettingValue::fromInt(*wanted));
  };
  auto setSize = [&](const DynamicKey &key) {
    const NumberSetting number = key.counterpart().number;
    set(settings.*number, old.*number, key);
  };
  setSize(parallelism::pipelineParallel);
  setSize(parallelism::tensorParallel);
  setSize(parallelism::contextParallel);
  setSize(parallelism::expertParallel);
  set(settings.interleave, old.interleave, parallelism::interleaveNum);
  setSize(training::localBatchSize);
  if (isChanged(settings.scheduler, old.scheduler))
    keys.set(parallelism::schedule.getPath(),
             SettingValue::fromName(*settings.scheduler));
  if (isChanged(settings.modelParallel, old.modelParallel) &&
      *settings.modelParallel > 1)
    keys.set(parallelism::sequenceParallel.getPath(),
             SettingValue::fromBool(true));
  const int64_t stages = settings.stages.value_or(old.stages.value_or(1));
  const auto &batches =
      stages > 1 ? settings.microBatches : settings.gradientAccumulation;
  const auto &current =
      stages > 1 ? old.microBatches : old.gradientAccumulation;
  if (isChanged(batches, current) ||
      isChanged(settings.batchSize, old.batchSize))
    keys.set(training::globalBatchSize.getPath(),
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
  keys.set(parallelism::layersPerStage.getPath(), std::move(list));
}

SettingValue getDynamicLayoutKeys(const MemorySettings &settings,
                                  const MemorySettings &old,
                                  const TrainingConfig &config,
                                  llvm::StringRef fileName,
                                  DiagnosticList &diagnostics) {
  return DynamicSettingKeys(settings, old, config, fileName, diagnostics)
      .take();
}

//===----------------------------------------------------------------------===//
// Recompute and swap
//===----------------------------------------------------------------------===//

/// Layers in ascending order as a list of ranges.
static SettingValue makeLayerList(llvm::ArrayRef<int64_t> layers) {
  SettingValue list = SettingValue::makeList();
  for (size_t first = 0; first < layers.size();) {
    size_t last = first;
    while (last + 1 < layers.size() && layers[last + 1] == layers[last] + 1)
      ++last;
    list.elements.push_back(SettingValue::fromPattern(
        printLayerRange(layers[first], layers[last])));
    first = last + 1;
  }
  return list;
}

namespace {

/// Layers and modules to recompute, as lists of layers.
class DynamicRecomputeKeys {
public:
  DynamicRecomputeKeys(const MemorySettings &settings,
                       const MemorySettings &old, const Node &document,
                       const StageMap &stages)
      : settings(settings), old(old), section(document[recompute::section]),
        stages(stages) {
    if (settings.swap && settings.leavesOutSwapped)
      for (const SwapItem &item : *settings.swap)
        if (item.operatorName.empty())
          llvm::append_range(swapped, item.layers);
  }

  SettingValue take() {
    const bool changesLayers = isChanged(settings.recompute, old.recompute);
    const bool changesModules =
        isChanged(settings.selectRecompute, old.selectRecompute);
    if (!changesLayers && !changesModules && swapped.empty())
      return {};
    SettingValue all;
    const bool hasLayers = setLayers();
    const bool hasModules = setModules();
    const llvm::StringRef mode = hasModules  ? "select"
                                 : hasLayers ? "full"
                                             : "None";
    const Node given = section[recompute::mode.name];
    if (given.isDefined() ? given.getText() != mode : mode != "None")
      // A bare None would be a string, too, but reads like Python's.
      all.set(recompute::mode.getPath(), mode == "None"
                                             ? SettingValue::fromPattern(mode)
                                             : SettingValue::fromName(mode));
    all.merge(keys);
    return all;
  }

private:
  std::vector<int64_t> getLayers(const StageTable &table) const {
    std::vector<int64_t> layers = getCoveredLayers(stages, table);
    llvm::erase_if(layers, [&](int64_t layer) {
      return llvm::is_contained(swapped, layer);
    });
    return layers;
  }

  static bool isFilled(const Node &value) {
    return !value.getElements().empty() || !value.getEntries().empty();
  }

  /// Says whether layers are recomputed as a whole.
  bool setLayers() {
    const Node given = section[recompute::fullRecomputeLayer.name];
    const bool counts = section[recompute::mode.name].isDefined() &&
                        section[recompute::mode.name].getText() != "None" &&
                        isFilled(given);
    if (!settings.recompute)
      return counts;
    const std::vector<int64_t> layers = getLayers(*settings.recompute);
    // An old list would take effect again if modules are set.
    if (!layers.empty() || isFilled(given))
      set(recompute::fullRecomputeLayer, given, makeLayerList(layers));
    return !layers.empty();
  }

  /// Says whether modules are recomputed.
  bool setModules() {
    const Node given = section[recompute::selectModule.name];
    if (!settings.selectRecompute)
      return section[recompute::mode.name].isDefined() &&
             section[recompute::mode.name].getText() == "select";
    SettingValue map = SettingValue::makeMap();
    for (const OperatorCounts &modules : *settings.selectRecompute)
      if (std::vector<int64_t> layers = getLayers(modules.layers);
          !layers.empty())
        map.entries.emplace_back(modules.pattern, makeLayerList(layers));
    const bool isAny = !map.entries.empty();
    if (isAny)
      set(recompute::selectModule, given, std::move(map));
    return isAny;
  }

  void set(const DynamicKey &key, const Node &given, SettingValue value) {
    if (!given.isDefined() || !says(given, value))
      keys.set(key.getPath(), std::move(value));
  }

  const MemorySettings &settings, &old;
  Node section;
  const StageMap &stages;
  llvm::SmallVector<int64_t> swapped;
  SettingValue keys;
};

} // namespace

SettingValue getDynamicRecomputeKeys(const MemorySettings &settings,
                                     const MemorySettings &old,
                                     const Node &document,
                                     const TrainingConfig &config,
                                     DiagnosticList &diagnostics) {
  if (!settings.recompute && !settings.selectRecompute)
    return {};
  const std::optional<StageMap> stages = makeStageMap(config, diagnostics);
  if (!stages)
    return {};
  return DynamicRecomputeKeys(settings, old, document, *stages).take();
}

SettingValue getDynamicSwapKeys(const MemorySettings &settings,
                                const MemorySettings &old,
                                const TrainingConfig &config,
                                DiagnosticList &diagnostics) {
  SettingValue keys;
  if (!isChanged(settings.swap, old.swap))
    return keys;
  const std::vector<SwapItem> items = groupByPrefetch(*settings.swap);
  if (config.swap.swap != !items.empty())
    keys.set(swap::enable.getPath(), SettingValue::fromBool(!items.empty()));
  if (items.empty())
    return keys;
  SettingValue whole = SettingValue::makeList(),
               modules = SettingValue::makeList();
  for (const SwapItem &item : items) {
    if (item.backwardPrefetch != items.front().backwardPrefetch) {
      diagnostics.error({config.root.getLocation().file, 0, 0},
                        "the YAML of the dynamic graph has one " +
                            swap::defaultPrefetch.name +
                            " for all that is swapped; expected " +
                            llvm::Twine(items.front().backwardPrefetch) +
                            " layers for each item, but got " +
                            llvm::Twine(item.backwardPrefetch));
      return keys;
    }
    SettingValue map = SettingValue::makeMap();
    if (!item.operatorName.empty())
      map.entries.emplace_back(known::swapName.str(),
                               SettingValue::fromPattern(item.operatorName));
    map.entries.emplace_back(known::swapLayers.str(),
                             makeLayerList(item.layers));
    (item.operatorName.empty() ? whole : modules)
        .elements.push_back(std::move(map));
  }
  keys.set(swap::defaultPrefetch.getPath(),
           SettingValue::fromInt(items.front().backwardPrefetch));
  if (!whole.elements.empty() || config.swap.layerSwap)
    keys.set(swap::layerSwap.getPath(), std::move(whole));
  if (!modules.elements.empty() || config.swap.opSwap)
    keys.set(swap::opSwap.getPath(), std::move(modules));
  return keys;
}

} // namespace mf
