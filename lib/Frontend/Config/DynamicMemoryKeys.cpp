//===- DynamicMemoryKeys.cpp - Recompute and swap in the other format -----===//
// SPDX-License-Identifier: Apache-2.0

#include "DynamicLayers.h"
#include "DynamicSettingKeys.h"
#include "llvm/ADT/STLExtras.h"

namespace mf {

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
      : settings(settings), old(old), section(document["recompute"]),
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
    const Node given = section["mode"];
    if (given.isDefined() ? given.getText() != mode : mode != "None")
      // A bare None would be a string, too, but reads like Python's.
      all.set(dynamic::modePath, mode == "None"
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
    const Node given = section["full_recompute_layer"];
    const bool counts = section["mode"].isDefined() &&
                        section["mode"].getText() != "None" && isFilled(given);
    if (!settings.recompute)
      return counts;
    const std::vector<int64_t> layers = getLayers(*settings.recompute);
    // An old list would take effect again if modules are set.
    if (!layers.empty() || isFilled(given))
      set(dynamic::fullPath, given, makeLayerList(layers));
    return !layers.empty();
  }

  /// Says whether modules are recomputed.
  bool setModules() {
    const Node given = section["select_module"];
    if (!settings.selectRecompute)
      return section["mode"].isDefined() &&
             section["mode"].getText() == "select";
    SettingValue map = SettingValue::makeMap();
    for (const OperatorCounts &modules : *settings.selectRecompute)
      if (std::vector<int64_t> layers = getLayers(modules.layers);
          !layers.empty())
        map.entries.emplace_back(modules.pattern, makeLayerList(layers));
    const bool isAny = !map.entries.empty();
    if (isAny)
      set(dynamic::modulePath, given, std::move(map));
    return isAny;
  }

  void set(llvm::StringRef path, const Node &given, SettingValue value) {
    if (!given.isDefined() || !says(given, value))
      keys.set(path, std::move(value));
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
    keys.set(dynamic::swapPath, SettingValue::fromBool(!items.empty()));
  if (items.empty())
    return keys;
  SettingValue whole = SettingValue::makeList(),
               modules = SettingValue::makeList();
  for (const SwapItem &item : items) {
    if (item.backwardPrefetch != items.front().backwardPrefetch) {
      diagnostics.error(
          {config.root.getLocation().file, 0, 0},
          "the YAML of the dynamic graph has one default_prefetch for all "
          "that is swapped; expected " +
              llvm::Twine(items.front().backwardPrefetch) +
              " layers for each item, but got " +
              llvm::Twine(item.backwardPrefetch));
      return keys;
    }
    SettingValue map = SettingValue::makeMap();
    if (!item.operatorName.empty())
      map.entries.emplace_back("op_name",
                               SettingValue::fromPattern(item.operatorName));
    map.entries.emplace_back("layers", makeLayerList(item.layers));
    (item.operatorName.empty() ? whole : modules)
        .elements.push_back(std::move(map));
  }
  keys.set(dynamic::prefetchPath,
           SettingValue::fromInt(items.front().backwardPrefetch));
  if (!whole.elements.empty() || config.swap.layerSwap)
    keys.set(dynamic::layerSwapPath, std::move(whole));
  if (!modules.elements.empty() || config.swap.opSwap)
    keys.set(dynamic::opSwapPath, std::move(modules));
  return keys;
}

} // namespace mf
