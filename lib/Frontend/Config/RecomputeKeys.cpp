//===- RecomputeKeys.cpp - Keys that express recompute --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "LayerNormalizer.h"
#include "SettingKeys.h"
#include "mf/Frontend/Config/SettingEdit.h"
#include "llvm/ADT/STLExtras.h"
#include <set>

using namespace llvm;

namespace mf {

namespace {

class RecomputeKeys {
public:
  RecomputeKeys(const TrainingConfig &config, bool isSwapOn,
                DiagnosticList &diagnostics)
      : config(config), isSwapOn(isSwapOn), diagnostics(diagnostics) {
    DiagnosticList problems;
    stages = makeStageMap(config, problems);
    if (stages)
      current = readSettings(config, *stages);
    else if (isSwapOn)
      diagnostics.append(problems);
  }

  /// Layers that are swapped as a whole are not recomputed at all.
  void leaveOut(ArrayRef<SwapItem> swap) {
    for (const SwapItem &item : swap)
      if (item.operatorName.empty())
        swapped.insert(item.layers.begin(), item.layers.end());
  }

  void setRecompute(const StageTable &table) {
    const StageTable normal = normalize(table, getName(LayerKey::Recompute));
    if (stages && current.recompute == normal && swapped.empty() &&
        canStay(config.recompute.recompute))
      return;
    const SettingValue layers = getLayers(table);
    const bool isNone = hasNoLayers(table) || layers.elements.empty();
    keys.set(getPath(LayerKey::Recompute),
             isNone ? SettingValue::fromBool(false) : layers);
  }

  /// `given` is the normalized `setting`, and `defaults` are the patterns of
  /// settings without names.
  void setOperators(LayerKey key, ArrayRef<OperatorCounts> list,
                    const std::optional<std::vector<OperatorCounts>> &given,
                    const LayerSetting &setting, ArrayRef<StringRef> defaults) {
    const std::string path = getPath(key);
    SettingValue map = SettingValue::makeMap();
    std::vector<OperatorCounts> wanted;
    for (const OperatorCounts &operators : list) {
      if (hasNoLayers(operators.layers))
        continue;
      wanted.push_back(
          {operators.pattern,
           normalize(operators.layers,
                     getName(key).str() + " " + quote(operators.pattern))});
      SettingValue layers = getLayers(operators.layers);
      if (!layers.elements.empty())
        map.entries.emplace_back(operators.pattern, std::move(layers));
    }
    const bool isGiven =
        stages && given && swapped.empty() && given->size() == wanted.size() &&
        llvm::all_of(*given, [&](const OperatorCounts &operators) {
          return is_contained(wanted, operators);
        });
    if (isGiven && canStay(setting))
      return;
    if (map.entries.empty())
      return keys.set(path, SettingValue::fromBool(false));
    if (isListOfCounts(setting) && areDefaults(wanted, defaults))
      return keys.set(path, map.entries.front().second);
    keys.set(path, map);
  }

  const MemorySettings &getCurrent() const { return current; }
  SettingValue take() { return std::move(keys); }

private:
  static bool isListOfCounts(const LayerSetting &setting) {
    return setting.kind == LayerSetting::Kind::Selection &&
           (setting.selection.kind == LayerSelection::Kind::Counts ||
            setting.selection.kind == LayerSelection::Kind::Table);
  }

  /// True if a setting without names can express `wanted`.
  static bool areDefaults(ArrayRef<OperatorCounts> wanted,
                          ArrayRef<StringRef> defaults) {
    return wanted.size() == defaults.size() &&
           llvm::all_of(wanted, [&](const OperatorCounts &operators) {
             return is_contained(defaults, operators.pattern) &&
                    operators.layers == wanted.front().layers;
           });
  }

  /// True if the form of the setting is valid with the requested swap switch.
  /// MindSpore Transformers rejects bools as the layers of patterns with swap
  /// enabled.
  bool canStay(const LayerSetting &setting) const {
    if (setting.kind == LayerSetting::Kind::Selection &&
        setting.selection.kind == LayerSelection::Kind::Bool)
      return true;
    const bool hasBools =
        any_of(setting.patterns, [](const LayerSetting::Pattern &pattern) {
          return pattern.layers.kind == LayerSelection::Kind::Bool;
        });
    return isSwapOn == config.swap.swap && !(isSwapOn && hasBools);
  }

  /// Normalizes a table to the layers of the model; it is an error if its shape
  /// is not the stage map's.
  StageTable normalize(const StageTable &table, const Twine &what) {
    const Location file = {config.root.getLocation().file, 0, 0};
    return stages ? normalizeTable(*stages, table, ("the new " + what).str(),
                                   file, diagnostics)
                  : table;
  }

  SettingValue getLayers(const StageTable &table) {
    if (!isSwapOn || !stages)
      return getTableValue(table);
    std::vector<int64_t> covered = getCoveredLayers(*stages, table);
    erase_if(covered, [&](int64_t layer) { return swapped.count(layer) > 0; });
    return SettingValue::fromInts(covered);
  }

  const TrainingConfig &config;
  bool isSwapOn;
  DiagnosticList &diagnostics;
  std::optional<StageMap> stages;
  MemorySettings current;
  std::set<int64_t> swapped;
  SettingValue keys;
};

} // namespace

SettingValue getRecomputeKeys(const MemorySettings &settings,
                              const TrainingConfig &config, bool isSwapOn,
                              DiagnosticList &diagnostics) {
  if (!settings.recompute && !settings.selectRecompute &&
      !settings.selectCommRecompute)
    return {};
  RecomputeKeys keys(config, isSwapOn, diagnostics);
  if (settings.swap && settings.leavesOutSwapped)
    keys.leaveOut(*settings.swap);
  const MemorySettings &current = keys.getCurrent();
  if (settings.recompute)
    keys.setRecompute(*settings.recompute);
  if (settings.selectRecompute)
    keys.setOperators(LayerKey::SelectRecompute, *settings.selectRecompute,
                      current.selectRecompute, config.recompute.selectRecompute,
                      /*defaults=*/{});
  if (settings.selectCommRecompute)
    keys.setOperators(
        LayerKey::SelectCommRecompute, *settings.selectCommRecompute,
        current.selectCommRecompute, config.recompute.selectCommRecompute,
        getDefaultCommPatterns());
  return keys.take();
}

} // namespace mf
