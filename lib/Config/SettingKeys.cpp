//===- SettingKeys.cpp - Which keys say a setting -------------------------===//

#include "SettingKeys.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include <set>

using namespace llvm;

namespace mf {

static constexpr StringLiteral recomputePath = "recompute_config.recompute",
                               selectPath = "recompute_config.select_recompute",
                               commPath =
                                   "recompute_config.select_comm_recompute",
                               offsetPath = "model.model_config.offset",
                               interleavePath =
                                   "model.model_config.pp_interleave_num",
                               switchPath = "parallel.pipeline_config."
                                            "pipeline_interleave",
                               schedulerPath = "parallel.pipeline_config."
                                               "pipeline_scheduler",
                               swapPath = "swap_config.swap",
                               layerSwapPath = "swap_config.layer_swap",
                               opSwapPath = "swap_config.op_swap",
                               shardingPath =
                                   "parallel.enable_parallel_optimizer",
                               sequencePath =
                                   "parallel_config.use_seq_parallel";

/// Settings that are one number.
struct NumberKey {
  StringLiteral path;
  std::optional<int64_t> MemorySettings::*setting;
};

static constexpr NumberKey numberKeys[] = {
    {"parallel_config.data_parallel", &MemorySettings::dataParallel},
    {"parallel_config.model_parallel", &MemorySettings::modelParallel},
    {"parallel_config.context_parallel", &MemorySettings::contextParallel},
    {"parallel_config.expert_parallel", &MemorySettings::expertParallel},
    {"parallel_config.pipeline_stage", &MemorySettings::stages},
    {"parallel_config.micro_batch_num", &MemorySettings::microBatches},
    {"runner_config.batch_size", &MemorySettings::batchSize},
};

ArrayRef<StringRef> getSettingPaths() {
  static const std::vector<StringRef> paths = [] {
    std::vector<StringRef> paths = {
        recomputePath,  selectPath, commPath,      offsetPath,
        interleavePath, switchPath, schedulerPath, swapPath,
        layerSwapPath,  opSwapPath, shardingPath,  sequencePath};
    for (const NumberKey &key : numberKeys)
      paths.push_back(key.path);
    return paths;
  }();
  return paths;
}

//===----------------------------------------------------------------------===//
// What no YAML can have
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
  checker.checkTable(settings.offset, "offset", /*allowNegative=*/true);
  checker.checkTable(settings.recompute, "recompute", /*allowNegative=*/false);
  checker.checkOperators(settings.selectRecompute, "select_recompute");
  checker.checkOperators(settings.selectCommRecompute, "select_comm_recompute");
  for (const NumberKey &key : numberKeys)
    checker.checkAtLeastOne(settings.*key.setting, key.path.rsplit('.').second);
  checker.checkAtLeastOne(settings.interleave, "pp_interleave_num");
  if (!settings.swap)
    return;
  for (const SwapItem &item : *settings.swap) {
    checker.checkAtLeastOne(item.backwardPrefetch, "backward_prefetch");
    if (!item.operatorName.empty())
      checker.checkText(item.operatorName, "op_swap");
  }
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
        parallel.parallelNode["pipeline_config"]["pipeline_scheduler"]
            .getLocation(),
        "settings: pipeline_scheduler " + quote(scheduler) +
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
      config.model.config["pp_interleave_num"].getInt().value_or(1);
  const int64_t wanted = settings.interleave.value_or(isOn ? given : 1);
  const bool needsSwitch = wanted > 1 || needsInterleave(scheduler);
  if (needsSwitch && !isOn)
    keys.set(switchPath, SettingValue::fromBool(true));
  if (!needsSwitch && isOn && given > 1)
    keys.set(switchPath, SettingValue::fromBool(false));
  // What has no effect may stay where nothing changes.
  if (given != wanted && (isOn || needsSwitch))
    keys.set(interleavePath, SettingValue::fromInt(wanted));
}

SettingValue getScheduleKeys(const MemorySettings &settings,
                             const TrainingConfig &config,
                             DiagnosticList &diagnostics) {
  SettingValue keys;
  const ParallelConfig &parallel = config.parallel;
  auto setNumber = [&](StringRef path, std::optional<int64_t> wanted,
                       int64_t current) {
    if (wanted && *wanted != current)
      keys.set(path, SettingValue::fromInt(*wanted));
  };
  auto setBool = [&](StringRef path, std::optional<bool> wanted, bool current) {
    if (wanted && *wanted != current)
      keys.set(path, SettingValue::fromBool(*wanted));
  };
  const int64_t current[] = {parallel.dataParallel,    parallel.modelParallel,
                             parallel.contextParallel, parallel.expertParallel,
                             parallel.pipelineStage,   parallel.microBatchNum,
                             config.runner.batchSize};
  for (const auto &[key, value] : zip_equal(numberKeys, current))
    setNumber(key.path, settings.*key.setting, value);
  setBool(sequencePath, settings.sequenceParallel, parallel.useSeqParallel);
  setBool(shardingPath, settings.optimizerSharding,
          parallel.enableParallelOptimizer);
  const StringRef scheduler = getScheduler(settings, config, diagnostics);
  if (scheduler != parallel.pipelineScheduler)
    keys.set(schedulerPath, SettingValue::fromName(scheduler));
  if (settings.interleave || scheduler != parallel.pipelineScheduler)
    setInterleave(settings, scheduler, config, keys);
  return keys;
}

//===----------------------------------------------------------------------===//
// Offset and swap
//===----------------------------------------------------------------------===//

static SettingValue getTableValue(const StageTable &table) {
  if (table.size() == 1)
    return SettingValue::fromInts(table.front());
  SettingValue rows = SettingValue::makeList();
  for (const std::vector<int64_t> &row : table)
    rows.elements.push_back(SettingValue::fromInts(row));
  return rows;
}

/// Whether the layers stand where they are asked to already.
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
      map.entries.emplace_back("op_name",
                               SettingValue::fromPattern(item.operatorName));
    map.entries.emplace_back("backward_prefetch",
                             SettingValue::fromInt(item.backwardPrefetch));
    map.entries.emplace_back("layers", SettingValue::fromInts(item.layers));
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
    keys.set(offsetPath, getTableValue(offset));
  return keys;
}

SettingValue getSwapKeys(ArrayRef<SwapItem> asked,
                         const TrainingConfig &config) {
  SettingValue keys;
  const std::vector<SwapItem> items = groupByPrefetch(asked);
  if (config.swap.swap != !items.empty())
    keys.set(swapPath, SettingValue::fromBool(!items.empty()));
  if (items.empty() || hasSwap(items, config))
    return keys;
  const SettingValue layers = getSwapItems(items, /*hasName=*/false);
  const SettingValue operators = getSwapItems(items, /*hasName=*/true);
  if (!layers.elements.empty() || config.swap.layerSwap)
    keys.set(layerSwapPath, layers);
  if (!operators.elements.empty() || config.swap.opSwap)
    keys.set(opSwapPath, operators);
  return keys;
}

//===----------------------------------------------------------------------===//
// Recompute
//===----------------------------------------------------------------------===//

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
  if (settings.swap)
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
