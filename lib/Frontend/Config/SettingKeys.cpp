//===- SettingKeys.cpp - The keys that express a setting ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "SettingKeys.h"
#include "DynamicKeys.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;

namespace mf {

std::string getPath(const KnownKey &key) {
  for (const KnownSection *section : getKnownSections())
    if (section->find(key.name) == &key)
      return (section->name + "." + key.name).str();
  llvm_unreachable("every key is in a section");
}

std::string getPath(LayerKey key) {
  return getPath(
      *(isSwap(key) ? swapSection : recomputeSection).find(getName(key)));
}

ArrayRef<SettingKey> getSettingKeys() {
  static const std::vector<SettingKey> settings = [] {
    std::vector<SettingKey> settings;
    for (const KnownSection *section : getKnownSections())
      for (const KnownKey &key : section->keys)
        if (key.number || key.flag)
          settings.push_back({getPath(key), &key});
    return settings;
  }();
  return settings;
}

ArrayRef<std::string> getSettingPaths() {
  static const std::vector<std::string> paths = [] {
    std::vector<std::string> paths = {
        getPath(LayerKey::Recompute),
        getPath(LayerKey::SelectRecompute),
        getPath(LayerKey::SelectCommRecompute),
        getPath(keys::offset),
        getPath(keys::interleave),
        getPath(&ParallelConfig::pipelineInterleave),
        getPath(&ParallelConfig::pipelineScheduler),
        getPath(&SwapConfig::swap),
        getPath(LayerKey::LayerSwap),
        getPath(LayerKey::OpSwap),
        dynamic::recompute::mode.getPath(),
        dynamic::recompute::fullRecomputeLayer.getPath(),
        dynamic::recompute::selectModule.getPath(),
        dynamic::swap::enable.getPath(),
        dynamic::swap::defaultPrefetch.getPath(),
        dynamic::swap::layerSwap.getPath(),
        dynamic::swap::opSwap.getPath(),
        dynamic::parallelism::layersPerStage.getPath()};
    for (const SettingKey &setting : getSettingKeys())
      paths.push_back(setting.path);
    return paths;
  }();
  return paths;
}

//===----------------------------------------------------------------------===//
// Sizes and schedule
//===----------------------------------------------------------------------===//

static StringRef getScheduler(const MemorySettings &settings,
                              const TrainingConfig &config,
                              DiagnosticList &diagnostics) {
  const ParallelConfig &parallel = config.parallel;
  const StringRef scheduler = settings.scheduler
                                  ? StringRef(*settings.scheduler)
                                  : StringRef(parallel.pipelineScheduler);
  if (!settings.lessMemoryInterleave)
    return scheduler;
  constexpr StringLiteral lessMemory = "seqsmartvpp";
  const bool isWanted = *settings.lessMemoryInterleave;
  const bool canHave = scheduler != "gpipe" && scheduler != "zero_bubble_v";
  const bool isContradiction =
      isWanted ? !canHave : settings.scheduler && scheduler == lessMemory;
  if (isContradiction)
    diagnostics.error(
        config.root.getPath(getPath(&ParallelConfig::pipelineScheduler))
            .getLocation(),
        "settings: " + known::nameOf(&ParallelConfig::pipelineScheduler) + " " +
            quote(scheduler) +
            (isWanted ? " has no memory variant; expected 1f1b, seqpipe, "
                        "seqvpp or seqsmartvpp"
                      : " is the memory variant, which is not asked for"));
  if (isWanted)
    return lessMemory;
  if (scheduler != lessMemory)
    return scheduler;
  return parallel.seqSplitNum > 1 ? "seqvpp" : "1f1b";
}

/// Chunks count only where pipeline_interleave is on.
static void setInterleave(const MemorySettings &settings, StringRef scheduler,
                          const TrainingConfig &config, SettingValue &keys) {
  const bool isOn = config.parallel.pipelineInterleave;
  const int64_t given =
      keys::interleave.find(config.model.config).getInt().value_or(1);
  const int64_t wanted = settings.interleave.value_or(isOn ? given : 1);
  const bool needsSwitch = wanted > 1 || needsInterleave(scheduler);
  if (needsSwitch && !isOn)
    keys.set(getPath(&ParallelConfig::pipelineInterleave),
             SettingValue::fromBool(true));
  if (!needsSwitch && isOn && given > 1)
    keys.set(getPath(&ParallelConfig::pipelineInterleave),
             SettingValue::fromBool(false));
  // A key without effect is kept if nothing changes.
  if (given != wanted && (isOn || needsSwitch))
    keys.set(getPath(mf::keys::interleave), SettingValue::fromInt(wanted));
}

SettingValue getScheduleKeys(const MemorySettings &settings,
                             const TrainingConfig &config,
                             DiagnosticList &diagnostics) {
  SettingValue keys;
  const ParallelConfig &parallel = config.parallel;
  // Numbers are set first because new keys of a section are written in this
  // order.
  for (const auto &[path, key] : getSettingKeys())
    if (key->number)
      if (auto wanted = settings.*key->number;
          wanted && *wanted != *key->getValue<int64_t>(config))
        keys.set(path, SettingValue::fromInt(*wanted));
  for (const auto &[path, key] : getSettingKeys())
    if (key->flag)
      if (auto wanted = settings.*key->flag;
          wanted && *wanted != *key->getValue<bool>(config))
        keys.set(path, SettingValue::fromBool(*wanted));
  const StringRef scheduler = getScheduler(settings, config, diagnostics);
  if (settings.interleave || scheduler != parallel.pipelineScheduler)
    setInterleave(settings, scheduler, config, keys);
  if (scheduler != parallel.pipelineScheduler)
    keys.set(getPath(&ParallelConfig::pipelineScheduler),
             SettingValue::fromName(scheduler));
  return keys;
}

//===----------------------------------------------------------------------===//
// Offset and swap
//===----------------------------------------------------------------------===//

SettingValue getTableValue(const StageTable &table) {
  if (table.size() == 1)
    return SettingValue::fromInts(table.front());
  SettingValue rows = SettingValue::makeList();
  for (const std::vector<int64_t> &row : table)
    rows.elements.push_back(SettingValue::fromInts(row));
  return rows;
}

/// True if the layers already have the requested places.
static bool hasOffset(const StageTable &offset, const TrainingConfig &config,
                      DiagnosticList &diagnostics) {
  DiagnosticList ignored;
  StageMapOptions options = getStageMapOptions(config, ignored);
  if (options.numLayers + options.mtpLayers == 0)
    return false;
  const std::optional<StageMap> wanted =
      makeStageMap(config, diagnostics, &offset);
  const std::optional<StageMap> current = makeStageMap(config, ignored);
  return wanted && current && getOffsets(*wanted) == getOffsets(*current);
}

static SettingValue getSwapItems(ArrayRef<SwapItem> items, bool hasName) {
  SettingValue list = SettingValue::makeList();
  for (const SwapItem &item : items) {
    if (item.operatorName.empty() == hasName)
      continue;
    SettingValue map = SettingValue::makeMap();
    if (hasName)
      map.entries.emplace_back(known::swapName,
                               SettingValue::fromPattern(item.operatorName));
    map.entries.emplace_back(known::swapPrefetch,
                             SettingValue::fromInt(item.backwardPrefetch));
    map.entries.emplace_back(known::swapLayers,
                             SettingValue::fromInts(item.layers));
    list.elements.push_back(std::move(map));
  }
  return list;
}

static bool hasSwap(ArrayRef<SwapItem> items, const TrainingConfig &config) {
  DiagnosticList ignored;
  const std::optional<StageMap> stages = makeStageMap(config, ignored);
  if (!stages)
    return false;
  // Layers are read before operators.
  std::vector<SwapItem> wanted;
  for (const bool isNamed : {false, true})
    copy_if(items, std::back_inserter(wanted), [&](const SwapItem &item) {
      return item.operatorName.empty() != isNamed;
    });
  return *readSettings(config, *stages).swap == wanted;
}

SettingValue getOffsetKeys(const StageTable &offset,
                           const TrainingConfig &config,
                           DiagnosticList &diagnostics) {
  SettingValue keys;
  if (!hasOffset(offset, config, diagnostics))
    keys.set(getPath(mf::keys::offset), getTableValue(offset));
  return keys;
}

SettingValue getSwapKeys(ArrayRef<SwapItem> asked,
                         const TrainingConfig &config) {
  SettingValue keys;
  const std::vector<SwapItem> items = groupByPrefetch(asked);
  if (config.swap.swap != !items.empty())
    keys.set(getPath(&SwapConfig::swap),
             SettingValue::fromBool(!items.empty()));
  // Swap excludes memory reuse across devices.
  if (!items.empty() && config.context.memoryOptimizeLevel != "O0")
    keys.set("context.memory_optimize_level", SettingValue::fromName("O0"));
  if (items.empty() || hasSwap(items, config))
    return keys;
  const SettingValue layers = getSwapItems(items, /*hasName=*/false);
  const SettingValue operators = getSwapItems(items, /*hasName=*/true);
  if (!layers.elements.empty() || config.swap.layerSwap)
    keys.set(getPath(LayerKey::LayerSwap), layers);
  if (!operators.elements.empty() || config.swap.opSwap)
    keys.set(getPath(LayerKey::OpSwap), operators);
  return keys;
}

//===----------------------------------------------------------------------===//
// Settings that no YAML can express
//===----------------------------------------------------------------------===//

namespace {

class SettingChecker {
public:
  SettingChecker(StringRef fileName, DiagnosticList &diagnostics)
      : fileName(fileName), diagnostics(diagnostics) {}

  void checkTable(const std::optional<StageTable> &table, const Twine &name,
                  bool allowNegative) {
    if (!table)
      return;
    for (const std::vector<int64_t> &row : *table)
      if (row.empty() || row.size() != table->front().size())
        return reject("a table of " + name +
                      " with as many values in each row");
    if (table->empty())
      return reject("at least one row of " + name);
    for (const std::vector<int64_t> &row : *table)
      for (const int64_t count : row)
        if (!allowNegative && count < 0)
          return reject("layers of " + name + " from 0 on, but got " +
                        Twine(count));
  }

  void checkOperators(const std::optional<std::vector<OperatorCounts>> &list,
                      const Twine &name) {
    if (!list)
      return;
    StringSet<> seen;
    for (const OperatorCounts &operators : *list) {
      checkText(operators.pattern, name);
      checkTable(operators.layers, name + " " + quote(operators.pattern),
                 false);
      if (!seen.insert(operators.pattern).second)
        reject("each pattern of " + name + " once, but got " +
               quote(operators.pattern) + " twice");
    }
  }

  void checkText(StringRef text, const Twine &name) {
    if (text.empty() || escapeControls(text) != text)
      reject("a pattern of " + name + " without control characters, but got " +
             quote(text));
  }

  void checkAtLeastOne(std::optional<int64_t> number, const Twine &name) {
    if (number && *number < 1)
      reject(name + " of at least 1, but got " + Twine(*number));
  }

private:
  void reject(const Twine &expected) {
    diagnostics.error({fileName.str(), 0, 0}, "settings: expected " + expected);
  }

  StringRef fileName;
  DiagnosticList &diagnostics;
};

} // namespace

void checkSettings(const MemorySettings &settings, StringRef fileName,
                   DiagnosticList &diagnostics) {
  SettingChecker checker(fileName, diagnostics);
  checker.checkTable(settings.offset, keys::offset.getName(),
                     /*allowNegative=*/true);
  checker.checkTable(settings.recompute, getName(LayerKey::Recompute),
                     /*allowNegative=*/false);
  checker.checkOperators(settings.selectRecompute,
                         getName(LayerKey::SelectRecompute));
  checker.checkOperators(settings.selectCommRecompute,
                         getName(LayerKey::SelectCommRecompute));
  for (const SettingKey &setting : getSettingKeys())
    if (setting.key->number)
      checker.checkAtLeastOne(settings.*setting.key->number, setting.key->name);
  checker.checkAtLeastOne(settings.interleave, keys::interleave.getName());
  if (!settings.swap)
    return;
  for (const SwapItem &item : *settings.swap) {
    checker.checkAtLeastOne(item.backwardPrefetch, known::swapPrefetch);
    if (!item.operatorName.empty())
      checker.checkText(item.operatorName, getName(LayerKey::OpSwap));
  }
}

} // namespace mf
