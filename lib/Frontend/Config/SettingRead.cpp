//===- SettingRead.cpp - Memory settings of a YAML ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "LayerNormalizer.h"
#include "SettingKeys.h"
#include "mf/Frontend/Config/ModelKeys.h"
#include "mf/Frontend/Config/SettingEdit.h"
#include "mf/Pipeline/Policy.h"
#include "mf/Support/Diagnostic.h"

using namespace llvm;

namespace mf {

std::optional<StageMap> makeStageMap(const TrainingConfig &config,
                                     DiagnosticList &diagnostics,
                                     const StageTable *offset) {
  StageMapOptions options = getStageMapOptions(config, diagnostics);
  if (offset) {
    options.offset.kind = offset->size() == 1 ? StageOffset::Kind::PerStage
                                              : StageOffset::Kind::PerMiniStage;
    options.offset.rows = *offset;
  }
  if (diagnostics.hasErrors())
    return std::nullopt;
  if (options.numLayers + options.mtpLayers == 0) {
    diagnostics.error(config.model.config.isDefined()
                          ? config.model.config.getLocation()
                          : config.root.getLocation(),
                      "expected the number of layers in model.model_config (" +
                          keys::numLayers.getName() + " or " +
                          keys::numLayers.getNames(keys::Mcore).front() +
                          "), but it is not given");
    return std::nullopt;
  }
  if (options.stageNum == 0 &&
      options.pipelineStages <= options.numLayers + options.mtpLayers) {
    const schedule::Policy &policy =
        *llvm::cantFail(schedule::findPolicy(getScheduleName(config.parallel)));
    options.visits = policy.place(options.pipelineStages, options.interleave, 1)
                         .stageOfChunk;
  }
  return StageMap::create(options, diagnostics);
}

static StageTable makeTable(const StageMap &stages, int64_t value = 0) {
  return StageTable(
      static_cast<size_t>(stages.getNumChunks()),
      std::vector<int64_t>(static_cast<size_t>(stages.getNumStages()), value));
}

/// Returns the columns in the order of stages instead of in the order of
/// visits.
static StageTable orderByStage(const StageMap &stages,
                               const std::vector<std::vector<int64_t>> &rows) {
  StageTable table = makeTable(stages);
  for (size_t chunk = 0; chunk < rows.size(); ++chunk)
    for (size_t position = 0; position < rows[chunk].size(); ++position) {
      const int64_t stage = stages.getStage(static_cast<int64_t>(chunk),
                                            static_cast<int64_t>(position));
      table[chunk][static_cast<size_t>(stage)] =
          std::max<int64_t>(rows[chunk][position], 0);
    }
  return table;
}

/// Returns a table, or none if the covered layers are not the first ones of
/// their mini stages.
static std::optional<StageTable> getTable(const StageMap &stages,
                                          const NormalizedLayers &layers) {
  if (layers.kind == NormalizedLayers::Kind::Matrix)
    return orderByStage(stages, layers.matrix);
  StageTable table = makeTable(stages);
  for (int64_t layer = 0; layer < stages.getNumCounted(); ++layer) {
    if (!layers.covers(stages, layer))
      continue;
    const LayerPlace &place = stages.getPlace(layer);
    int64_t &count =
        table[static_cast<size_t>(place.chunk)]
             [static_cast<size_t>(place.stage - stages.getStartStage())];
    if (place.index != count++)
      return std::nullopt;
  }
  return table;
}

/// A single row is a list with one count per stage, as in the YAML.
static NormalizedLayers normalize(const StageMap &stages,
                                  const StageTable &table, StringRef what,
                                  const Location &location,
                                  DiagnosticList &diagnostics) {
  LayerSelection selection;
  selection.location = location;
  for (const std::vector<int64_t> &row : table) {
    LayerCountRow counts;
    for (const int64_t count : row)
      counts.counts.push_back(LayerCount::fromInt(count));
    selection.table.push_back(std::move(counts));
  }
  selection.kind = LayerSelection::Kind::Table;
  if (table.size() == 1) {
    selection.kind = LayerSelection::Kind::Counts;
    selection.counts = selection.table.front().counts;
  }
  return LayerNormalizer(stages, /*isSwapOn=*/false, diagnostics)
      .normalize(selection, what);
}

StageTable normalizeTable(const StageMap &stages, const StageTable &table,
                          StringRef what, const Location &location,
                          DiagnosticList &diagnostics) {
  return orderByStage(
      stages, normalize(stages, table, what, location, diagnostics).matrix);
}

std::vector<int64_t> getCoveredLayers(const StageMap &stages,
                                      const StageTable &table) {
  DiagnosticList ignored;
  const NormalizedLayers layers = normalize(stages, table, "", {}, ignored);
  std::vector<int64_t> covered;
  for (int64_t layer = 0; layer < stages.getNumCounted(); ++layer)
    if (layers.covers(stages, layer))
      covered.push_back(layer);
  return covered;
}

StageTable getOffsets(const StageMap &stages) {
  const int64_t average =
      stages.getNumCounted() / (stages.getNumStages() * stages.getNumChunks());
  StageTable table = makeTable(stages, -average);
  for (int64_t layer = 0; layer < stages.getNumCounted(); ++layer) {
    const LayerPlace &place = stages.getPlace(layer);
    ++table[static_cast<size_t>(place.chunk)]
           [static_cast<size_t>(place.stage - stages.getStartStage())];
  }
  return table;
}

namespace {

class SettingReader {
public:
  SettingReader(const TrainingConfig &config, const StageMap &stages)
      : config(config), stages(stages),
        normalizer(stages, config.swap.swap, ignored) {}

  std::optional<StageTable> readRecompute() {
    return getTable(
        stages, normalizer.normalize(config.recompute.recompute.selection, ""));
  }

  std::optional<std::vector<OperatorCounts>>
  readOperators(const LayerSetting &setting,
                std::optional<ArrayRef<StringRef>> defaults) {
    const bool isUnnamed =
        setting.kind == LayerSetting::Kind::Selection && setting.isTruthy();
    if (isUnnamed && !defaults)
      return std::nullopt;
    std::vector<OperatorCounts> operators;
    for (const PatternLayers &pattern : resolvePatterns(
             setting, LayerKey::SelectRecompute,
             defaults.value_or(ArrayRef<StringRef>()), normalizer, ignored)) {
      std::optional<StageTable> table = getTable(stages, pattern.layers);
      if (!table)
        return std::nullopt;
      if (!hasNoLayers(*table))
        operators.push_back({pattern.request.pattern, std::move(*table)});
    }
    return operators;
  }

  std::vector<SwapItem> readSwap() {
    std::vector<SwapItem> items;
    const SwapConfig &swap = config.swap;
    if (!swap.swap)
      return items;
    if (swap.layerSwap)
      addItems("", *swap.layerSwap, items);
    if (swap.opSwap)
      for (const SwapConfig::OperatorSwap &named : *swap.opSwap)
        addItems(named.pattern, named.entries, items);
    if (!swap.layerSwap && !swap.opSwap) {
      SwapEntry entry;
      entry.prefetch = swap.defaultPrefetch;
      entry.allLayers = true;
      addItems(getDefaultSwapPattern(), entry, items);
    }
    return groupByPrefetch(items);
  }

private:
  /// If several entries cover a layer, only the first counts.
  void addItems(StringRef name, ArrayRef<SwapEntry> entries,
                std::vector<SwapItem> &items) const {
    std::vector<bool> isTaken(static_cast<size_t>(stages.getNumLayers()));
    for (const SwapEntry &entry : entries) {
      SwapItem item = {name.str(), entry.prefetch, {}};
      for (int64_t layer = 0; layer < stages.getNumLayers(); ++layer) {
        if (isTaken[static_cast<size_t>(layer)] || !entry.covers(layer))
          continue;
        isTaken[static_cast<size_t>(layer)] = true;
        item.layers.push_back(layer);
      }
      if (!item.layers.empty())
        items.push_back(std::move(item));
    }
  }

  const TrainingConfig &config;
  const StageMap &stages;
  /// Wrong settings are reported where a plan is made.
  DiagnosticList ignored;
  LayerNormalizer normalizer;
};

} // namespace

std::vector<SwapItem> groupByPrefetch(ArrayRef<SwapItem> items) {
  std::vector<SwapItem> groups;
  for (const SwapItem &item : items) {
    std::vector<int64_t> layers;
    for (const int64_t layer : item.layers)
      if (none_of(groups, [&](const SwapItem &group) {
            return group.operatorName == item.operatorName &&
                   is_contained(group.layers, layer);
          }))
        layers.push_back(layer);
    auto group = find_if(groups, [&](const SwapItem &other) {
      return other.operatorName == item.operatorName &&
             other.backwardPrefetch == item.backwardPrefetch;
    });
    if (layers.empty())
      continue;
    if (group == groups.end()) {
      groups.push_back({item.operatorName, item.backwardPrefetch, {}});
      group = std::prev(groups.end());
    }
    append_range(group->layers, layers);
    llvm::sort(group->layers);
    group->layers.erase(llvm::unique(group->layers), group->layers.end());
  }
  return groups;
}

bool hasNoLayers(const StageTable &table) {
  return all_of(table, [](const std::vector<int64_t> &row) {
    return all_of(row, [](int64_t count) { return count <= 0; });
  });
}

static void readSizes(const TrainingConfig &config, MemorySettings &settings) {
  const ParallelConfig &parallel = config.parallel;
  for (const SettingKey &setting : getSettingKeys()) {
    const KnownKey &key = *setting.key;
    if (key.number)
      settings.*key.number = *key.getValue<int64_t>(config);
    else
      settings.*key.flag = *key.getValue<bool>(config);
  }
  settings.scheduler = parallel.pipelineScheduler;
  settings.lessMemoryInterleave = parallel.pipelineScheduler == "seqsmartvpp";
}

MemorySettings readSettings(const TrainingConfig &config,
                            const StageMap &stages) {
  MemorySettings settings;
  readSizes(config, settings);
  settings.interleave = stages.getNumChunks();
  settings.offset = getOffsets(stages);
  SettingReader reader(config, stages);
  settings.recompute = reader.readRecompute();
  settings.selectRecompute =
      reader.readOperators(config.recompute.selectRecompute, std::nullopt);
  settings.selectCommRecompute = reader.readOperators(
      config.recompute.selectCommRecompute, getDefaultCommPatterns());
  settings.swap = reader.readSwap();
  return settings;
}

Expected<MemorySettings> readSettings(const TrainingConfig &config) {
  DiagnosticList diagnostics;
  const std::optional<StageMap> stages = makeStageMap(config, diagnostics);
  if (!stages)
    return toError(std::move(diagnostics));
  return readSettings(config, *stages);
}

} // namespace mf
