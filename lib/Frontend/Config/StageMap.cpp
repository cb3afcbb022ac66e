//===- StageMap.cpp - Maps layers to stages and chunks --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/StageMap.h"
#include "mf/Frontend/Config/ModelKeys.h"

namespace mf {

/// More layers or mini stages than any model has: a limit for hostile input.
static constexpr int64_t mostLayers = 1 << 16;

static int64_t readModelInt(const Node &model, const ModelKey &key,
                            int64_t missing, DiagnosticList &diagnostics,
                            int64_t smallest = 0) {
  Node value = key.find(model);
  if (value.isUndefinedOrNull())
    return missing;
  std::optional<int64_t> number = value.getInt();
  if (number && *number >= smallest && *number <= mostLayers)
    return *number;
  rejectValue(value,
              "an int from " + llvm::Twine(smallest) + " to " +
                  llvm::Twine(mostLayers) + " for " +
                  quote(key.findName(model)),
              diagnostics);
  return missing;
}

StageMapOptions getStageMapOptions(const TrainingConfig &config,
                                   DiagnosticList &diagnostics) {
  StageMapOptions options;
  const Node &model = config.model.config;
  options.numLayers = readModelInt(model, keys::numLayers, 0, diagnostics);
  options.mtpLayers =
      readModelInt(model, keys::nextTokenLayers, 0, diagnostics);
  options.mayLeaveOutMtp =
      !config.isOfDynamicGraph() &&
      (keys::modelType.find(model) || keys::architectures.find(model));
  options.pipelineStages = config.parallel.pipelineStage;
  options.location =
      known::find(config.parallel, &ParallelConfig::pipelineStage)
          .getLocation();
  if (config.parallel.pipelineInterleave)
    options.interleave =
        readModelInt(model, keys::interleave, 1, diagnostics, 1);
  options.startStage = readModelInt(model, keys::startStage, 0, diagnostics);
  options.stageNum = readModelInt(model, keys::stageNum, 0, diagnostics);
  if (auto offset = readStageOffset(keys::offset.find(model), diagnostics))
    options.offset = std::move(*offset);
  return options;
}

/// Returns "; OFFSET would do" with an offset that is right, or nothing if
/// there are too few layers for any.
static std::string proposeOffset(int64_t layers, int64_t stages,
                                 int64_t interleave) {
  if (layers < stages * interleave)
    return "";
  StageOffset offset;
  offset.kind = interleave > 1 ? StageOffset::Kind::PerMiniStage
                               : StageOffset::Kind::PerStage;
  offset.rows = dealLayersEvenly(layers, stages, interleave);
  return "; " + offset.repr() + " would do";
}

/// Returns the number of layers that the offset counts: all, or those without
/// the layers for multi-token prediction if it fits only these.
static int64_t countLayers(const StageMapOptions &options, int64_t miniStages) {
  const int64_t all = options.numLayers + options.mtpLayers;
  const int64_t sum = options.offset.getSum();
  return options.mayLeaveOutMtp && sum != all % miniStages &&
                 sum == options.numLayers % miniStages
             ? options.numLayers
             : all;
}

/// Returns what the values of an offset are to add up to.
static std::string describeSum(const StageMapOptions &options,
                               int64_t miniStages) {
  const int64_t all = options.numLayers + options.mtpLayers;
  auto describe = [&](int64_t layers) {
    return std::to_string(layers % miniStages) + ", what remains of " +
           std::to_string(layers) + " layers";
  };
  const std::string over =
      " over " + std::to_string(miniStages) + " mini stages (" +
      known::nameOf(&ParallelConfig::pipelineStage).str() + " " +
      std::to_string(miniStages / options.interleave) + " * " +
      keys::interleave.getName().str() + " " +
      std::to_string(options.interleave) + ")";
  if (!options.mayLeaveOutMtp || options.mtpLayers == 0)
    return describe(all) + over;
  return describe(options.numLayers) +
         " without the one that predicts later tokens" + over +
         ", as current releases of MindSpore Transformers count, or to " +
         describe(all) + " with it, as older releases do";
}

/// Checks an offset as MindSpore Transformers does, in the same order.
static bool checkOffset(const StageOffset &offset,
                        const StageMapOptions &options, int64_t stages,
                        int64_t interleave, DiagnosticList &diagnostics) {
  auto columns =
      static_cast<int64_t>(offset.rows.empty() ? 0 : offset.rows[0].size());
  int64_t layers = options.numLayers + options.mtpLayers;
  const std::string proposal = proposeOffset(
      options.mayLeaveOutMtp && options.numLayers >= stages * interleave
          ? options.numLayers
          : layers,
      stages, interleave);
  if (offset.kind != StageOffset::Kind::Scalar && columns != stages) {
    diagnostics.error(offset.location,
                      "expected one value per pipeline stage (" +
                          llvm::Twine(stages) + ") in each row of 'offset' " +
                          offset.repr() + ", but got " + llvm::Twine(columns) +
                          proposal);
    return false;
  }
  auto rows = static_cast<int64_t>(offset.rows.size());
  if (offset.kind == StageOffset::Kind::PerMiniStage && rows != interleave) {
    Diagnostic &error = diagnostics.error(
        offset.location, "expected one row per interleave (" +
                             llvm::Twine(interleave) + ") in 'offset' " +
                             offset.repr() + ", but got " + llvm::Twine(rows) +
                             proposal);
    if (interleave == 1)
      error.attachNote(keys::interleave.getName() + " counts only if " +
                       pipelineSection.name + "." +
                       known::nameOf(&ParallelConfig::pipelineInterleave) +
                       " is True");
    return false;
  }
  const int64_t miniStages = stages * interleave;
  layers = countLayers(options, miniStages);
  if (offset.getSum() != layers % miniStages) {
    diagnostics.error(offset.location,
                      "expected the values of 'offset' " + offset.repr() +
                          " to add up to " + describeSum(options, miniStages) +
                          ", but they add up to " +
                          llvm::Twine(offset.getSum()) + proposal);
    return false;
  }
  return true;
}

/// Says which layers an offset counts if releases differ.
static void warnAboutLeftOut(const StageMapOptions &options, int64_t counted,
                             int64_t miniStages, const StageOffset &offset,
                             DiagnosticList &diagnostics) {
  if (!options.mayLeaveOutMtp || options.mtpLayers == 0 || miniStages == 1)
    return;
  const std::string counts =
      "'offset' " + offset.repr() + " counts " + std::to_string(counted);
  if (counted == options.numLayers)
    diagnostics.warning(
        offset.location,
        counts +
            " layers without the one that predicts later tokens, as current "
            "releases of MindSpore Transformers do; it is on the last stage, "
            "with the recompute setting of layer " +
            llvm::Twine(counted - 1));
  else
    diagnostics.warning(offset.location,
                        counts +
                            " layers with the one that predicts later tokens, "
                            "as older releases of MindSpore Transformers do; "
                            "current ones expect a sum of " +
                            llvm::Twine(options.numLayers % miniStages));
}

/// Returns the order in which chunks visit the stages: the requested one or the
/// ascending one.
static std::optional<std::vector<int64_t>>
getVisits(const StageMapOptions &options, int64_t stages,
          DiagnosticList &diagnostics) {
  std::vector<int64_t> visits = options.visits;
  for (auto at = static_cast<int64_t>(visits.size());
       options.visits.empty() && at < stages * options.interleave; ++at)
    visits.push_back(at % stages);
  bool isWellFormed =
      visits.size() == static_cast<size_t>(stages * options.interleave);
  for (auto chunk = visits.begin(); isWellFormed && chunk != visits.end();
       chunk += stages) {
    std::vector<int64_t> sorted(chunk, chunk + stages);
    std::sort(sorted.begin(), sorted.end());
    for (int64_t stage = 0; stage < stages; ++stage)
      isWellFormed &= sorted[static_cast<size_t>(stage)] == stage;
  }
  if (isWellFormed)
    return visits;
  diagnostics.error(
      options.location,
      "the schedule does not place " + llvm::Twine(options.interleave) +
          " chunks on each of " + llvm::Twine(stages) + " stages, as " +
          known::nameOf(&ParallelConfig::pipelineStage) + " and " +
          keys::interleave.getName() + " ask for");
  return std::nullopt;
}

/// Checks the numbers of layers as MindSpore Transformers does: none is
/// negative, and only the first and the last mini stage, which have the
/// embedding and the head, may be without layers. The last one has the last
/// layer that predicts a later token, if the offset counts these layers.
static bool checkCounts(const StageMap &map, int64_t layers, bool countsLater,
                        const StageOffset &offset,
                        DiagnosticList &diagnostics) {
  const int64_t stages = map.getNumStages(), interleave = map.getNumChunks();
  std::vector<int64_t> placed(static_cast<size_t>(stages * interleave));
  for (int64_t layer = 0; layer < layers; ++layer) {
    const LayerPlace &place = map.getPlace(layer);
    ++placed[static_cast<size_t>(place.chunk * stages + place.position)];
  }
  int64_t total = 0;
  for (size_t number = 0; number < placed.size(); ++number) {
    const auto chunk = static_cast<int64_t>(number) / stages;
    const auto position = static_cast<int64_t>(number) % stages;
    const int64_t count =
        map.getLayersPerStage()[static_cast<size_t>(chunk)]
                               [static_cast<size_t>(position)];
    total += count;
    const bool isLast = number + 1 == placed.size();
    const bool isOuter = number == 0 || isLast;
    const int64_t least = !isOuter || (isLast && countsLater) ? 1 : 0;
    if (count >= 0 && placed[number] >= least)
      continue;
    diagnostics.error(offset.location,
                      "'offset' " + offset.repr() + " leaves stage " +
                          llvm::Twine(map.getStage(chunk, position)) +
                          " of interleave " + llvm::Twine(chunk) + " with " +
                          llvm::Twine(std::min(count, placed[number])) +
                          " layers; expected at least " + llvm::Twine(least) +
                          (!isOuter ? " between the first and the last of all"
                           : least > 0
                               ? " there, where later tokens are predicted"
                               : " there") +
                          proposeOffset(layers, stages, interleave));
    return false;
  }
  if (total != layers)
    diagnostics.warning(offset.location,
                        "'offset' " + offset.repr() + " counts for every " +
                            (offset.kind == StageOffset::Kind::Scalar
                                 ? "mini stage"
                                 : "interleave") +
                            ", so that room is made for " + llvm::Twine(total) +
                            " layers, but there are " + llvm::Twine(layers) +
                            "; late stages get fewer than they could, give one "
                            "value per mini stage instead");
  return true;
}

std::optional<StageMap> StageMap::create(const StageMapOptions &options,
                                         DiagnosticList &diagnostics) {
  int64_t layers = options.numLayers + options.mtpLayers;
  int64_t stages =
      options.stageNum != 0 ? options.stageNum : options.pipelineStages;
  int64_t interleave = options.interleave;
  for (int64_t size : {layers, stages, interleave}) {
    if (size >= 0 && size <= mostLayers)
      continue;
    diagnostics.error(options.location,
                      "expected at most " + llvm::Twine(mostLayers) +
                          " layers, stages and interleaves, but got " +
                          llvm::Twine(size));
    return std::nullopt;
  }
  if (stages < 1 || interleave < 1 || stages * interleave > mostLayers) {
    diagnostics.error(options.location, "expected from 1 to " +
                                            llvm::Twine(mostLayers) +
                                            " mini stages, but got " +
                                            llvm::Twine(stages * interleave));
    return std::nullopt;
  }
  // A missing offset defaults to 0, so errors about it point to the number of
  // stages.
  StageOffset offset = options.offset;
  if (!offset.location.isKnown())
    offset.location = options.location;
  if (!checkOffset(offset, options, stages, interleave, diagnostics))
    return std::nullopt;
  const int64_t uncounted = layers - countLayers(options, stages * interleave);
  layers -= uncounted;
  auto visits = getVisits(options, stages, diagnostics);
  if (!visits)
    return std::nullopt;

  StageMap map;
  map.numStages = stages;
  map.startStage = options.stageNum != 0 ? options.startStage : 0;
  map.numChunks = interleave;
  map.visits = std::move(*visits);
  int64_t average = layers / (stages * interleave);
  for (int64_t chunk = 0; chunk < interleave; ++chunk) {
    const std::vector<std::vector<int64_t>> &rows = offset.rows;
    const std::vector<int64_t> &row =
        rows[rows.size() > 1 ? static_cast<size_t>(chunk) : 0];
    std::vector<int64_t> &counts = map.layersPerStage.emplace_back();
    counts.reserve(static_cast<size_t>(stages));
    for (int64_t position = 0; position < stages; ++position) {
      auto stage = static_cast<size_t>(map.getStage(chunk, position));
      counts.push_back(average + row[row.size() > 1 ? stage : 0]);
    }
  }
  map.firstOffset = offset.rows[0][0];

  // A layer belongs to the first mini stage whose prefix sum exceeds the
  // layer's index.
  int64_t next = 0;
  int64_t sum = 0;
  for (int64_t chunk = 0; chunk < interleave; ++chunk) {
    for (int64_t position = 0; position < stages; ++position) {
      int64_t first = sum;
      sum += map.layersPerStage[static_cast<size_t>(chunk)]
                               [static_cast<size_t>(position)];
      int64_t stage = map.startStage + map.getStage(chunk, position);
      for (; next < std::min(sum, layers); ++next)
        map.places.push_back(
            {stage, chunk, next - std::max<int64_t>(first, 0), position});
    }
  }
  const bool countsLater = uncounted == 0 && options.mtpLayers > 0;
  if (!checkCounts(map, layers, countsLater, offset, diagnostics))
    return std::nullopt;
  warnAboutLeftOut(options, layers, stages * interleave, offset, diagnostics);
  map.numUncounted = uncounted;
  for (; next < layers + uncounted; ++next)
    map.places.push_back(
        {map.getLastStage(), interleave - 1,
         std::max<int64_t>(map.layersPerStage.back().back(), 0) + next - layers,
         stages - 1});
  return map;
}

bool StageMap::visitsAlike() const {
  for (int64_t chunk = 1; chunk < numChunks; ++chunk)
    for (int64_t position = 0; position < numStages; ++position)
      if (getStage(chunk, position) != getStage(0, position))
        return false;
  return true;
}

std::vector<std::vector<int64_t>> StageMap::getAccumulated() const {
  std::vector<std::vector<int64_t>> accumulated = layersPerStage;
  int64_t sum = 0;
  for (std::vector<int64_t> &row : accumulated) {
    for (int64_t &count : row) {
      sum += count;
      count = sum;
    }
  }
  return accumulated;
}

std::vector<int64_t> StageMap::getLayers(int64_t stage, int64_t chunk) const {
  std::vector<int64_t> layers;
  for (int64_t layer = 0; layer < getNumLayers(); ++layer)
    if (getPlace(layer).stage == startStage + stage &&
        getPlace(layer).chunk == chunk)
      layers.push_back(layer);
  return layers;
}

int64_t StageMap::getCommFusion(int64_t layer,
                                int64_t gradientAggregationGroup) const {
  if (numStages > 1)
    return 2;
  int64_t groupSize = std::max<int64_t>(
      (getNumLayers() + 1) / std::max<int64_t>(gradientAggregationGroup, 1), 1);
  return (layer + firstOffset) / groupSize + 1;
}

bool checkLayerCount(const StageMapOptions &options,
                     DiagnosticList &diagnostics) {
  int64_t layers = options.numLayers + options.mtpLayers;
  if (layers < options.pipelineStages) {
    diagnostics.error(
        options.location,
        "expected at least one layer per pipeline stage, but there are " +
            llvm::Twine(layers) + " layers and " +
            llvm::Twine(options.pipelineStages) + " stages");
    return false;
  }
  if (options.interleave > 1 &&
      options.interleave * options.pipelineStages > layers) {
    diagnostics.error(options.location,
                      "expected at least one layer per interleave and pipeline "
                      "stage, but there are " +
                          llvm::Twine(layers) + " layers and " +
                          llvm::Twine(options.interleave) + " * " +
                          llvm::Twine(options.pipelineStages) + " mini stages");
    return false;
  }
  return true;
}

} // namespace mf
