//===- RecomputeKeys.cpp - Which keys say what is recomputed --------------===//

#include "SettingKeys.h"
#include "llvm/ADT/STLExtras.h"
#include <set>

using namespace llvm;

namespace mf {

namespace {

class RecomputeKeys {
public:
  RecomputeKeys(const TrainingConfig &config, bool isSwapOn,
                std::optional<NameFamily> names, DiagnosticList &diagnostics)
      : config(config), isSwapOn(isSwapOn), diagnostics(diagnostics) {
    DiagnosticList problems;
    stages = makeStageMap(config, problems);
    if (stages)
      current = readSettings(config, *stages, names);
    else if (isSwapOn)
      diagnostics.append(problems);
  }

  /// Of layers that are swapped as a whole, nothing is recomputed.
  void leaveOut(ArrayRef<SwapItem> swap) {
    for (const SwapItem &item : swap)
      if (item.operatorName.empty())
        swapped.insert(item.layers.begin(), item.layers.end());
  }

  void setRecompute(const StageTable &table) {
    if (isSame(current.recompute, table, "recompute") &&
        canStay(config.recompute.recompute))
      return;
    keys.set(recomputePath, hasNoLayers(table) ? SettingValue::fromBool(false)
                                               : getLayers(table, "recompute"));
  }

  void setOperators(StringRef path, ArrayRef<OperatorCounts> list,
                    const std::optional<std::vector<OperatorCounts>> &given,
                    const LayerSetting &setting) {
    const StringRef key = path.rsplit('.').second;
    SettingValue map = SettingValue::makeMap();
    bool isGiven = given && canStay(setting);
    for (const OperatorCounts &operators : list) {
      if (hasNoLayers(operators.layers))
        continue;
      const auto *same = !given ? nullptr : findPattern(*given, operators);
      isGiven &= same && isSame(same->layers, operators.layers, key);
      map.entries.emplace_back(operators.pattern,
                               getLayers(operators.layers, key));
    }
    if (isGiven && given->size() == map.entries.size())
      return;
    keys.set(path, map.entries.empty() ? SettingValue::fromBool(false) : map);
  }

  const MemorySettings &getCurrent() const { return current; }
  SettingValue take() { return std::move(keys); }

private:
  static const OperatorCounts *findPattern(ArrayRef<OperatorCounts> list,
                                           const OperatorCounts &operators) {
    const auto *found = find_if(list, [&](const OperatorCounts &other) {
      return other.pattern == operators.pattern;
    });
    return found == list.end() ? nullptr : found;
  }

  /// Whether the form is one for swap, on or off as it is to be. MindSpore
  /// Transformers refuses bools of patterns with swap on.
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

  bool isSame(const std::optional<StageTable> &given, const StageTable &table,
              StringRef key) {
    return stages && given && swapped.empty() &&
           *given == normalizeTable(*stages, table, key, diagnostics);
  }

  SettingValue getLayers(const StageTable &table, StringRef key) {
    if (!isSwapOn || !stages)
      return getTableValue(table);
    std::vector<int64_t> covered =
        getCoveredLayers(*stages, table, key, diagnostics);
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
                              std::optional<NameFamily> names,
                              DiagnosticList &diagnostics) {
  if (!settings.recompute && !settings.selectRecompute &&
      !settings.selectCommRecompute)
    return {};
  RecomputeKeys keys(config, isSwapOn, names, diagnostics);
  if (settings.swap && settings.leavesOutSwapped)
    keys.leaveOut(*settings.swap);
  const MemorySettings &current = keys.getCurrent();
  if (settings.recompute)
    keys.setRecompute(*settings.recompute);
  if (settings.selectRecompute)
    keys.setOperators(selectPath, *settings.selectRecompute,
                      current.selectRecompute,
                      config.recompute.selectRecompute);
  if (settings.selectCommRecompute)
    keys.setOperators(commPath, *settings.selectCommRecompute,
                      current.selectCommRecompute,
                      config.recompute.selectCommRecompute);
  return keys.take();
}

} // namespace mf
