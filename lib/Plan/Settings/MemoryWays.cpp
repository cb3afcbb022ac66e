//===- MemoryWays.cpp - Ways to lower the memory of a step ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Plan/Settings/MemoryWays.h"
#include "mf/Frontend/Config/BatchRules.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "mf/Frontend/Config/ModelKeys.h"
#include "mf/Plan/Settings/Layout.h"
#include "mf/Support/Diagnostic.h"

using namespace mf;
using namespace mf::planner;
using llvm::Expected;
using llvm::StringRef;

bool WayStep::changesModel() const {
  return llvm::any_of(
      taken, [](const MemoryChoice &choice) { return choice.changesModel; });
}

std::string WayStep::describe() const {
  std::string text;
  for (const MemoryChoice &choice : taken)
    text += (text.empty() ? "" : ", ") + choice.describe();
  return text;
}

/// Returns the tables with which all layers of each stage run again, for
/// layers that are distributed by `offset`.
static MemorySettings recomputeAll(int64_t layers, const StageTable &offset) {
  MemorySettings all;
  const auto chunks = static_cast<int64_t>(offset.size());
  const auto stages = static_cast<int64_t>(offset.front().size());
  all.recompute = offset;
  for (std::vector<int64_t> &row : *all.recompute)
    for (int64_t &count : row)
      count += layers / (stages * chunks);
  all.selectRecompute.emplace();
  all.selectCommRecompute.emplace();
  return all;
}

static int64_t countLayers(const TrainingConfig &config) {
  DiagnosticList ignored;
  return getStageMapOptions(config, ignored).numLayers;
}

namespace {

class WayFinder {
public:
  WayFinder(const TrainingConfig &config, const CompilerInput &input,
            bool mayChangeModel)
      : config(config), input(input), mayChangeModel(mayChangeModel) {
    DiagnosticList ignored;
    batch = resolveBatch(config, std::nullopt, ignored);
    if (auto read = readSettings(config))
      settings = std::move(*read);
    else
      llvm::consumeError(read.takeError());
  }

  /// Adds a choice to the way of its name.
  void add(MemoryChoice choice, bool addsDevices = false) {
    if (choice.changesModel && !mayChangeModel)
      return;
    auto found = llvm::find_if(ways, [&](const MemoryWay &way) {
      return way.name == choice.name && way.addsDevices == addsDevices;
    });
    if (found == ways.end()) {
      ways.push_back({choice.name, {}, addsDevices});
      found = std::prev(ways.end());
    }
    found->values.push_back(std::move(choice));
  }

  std::vector<MemoryWay> find() {
    addLossPieces();
    addSequence();
    addRecompute();
    addMicroBatches();
    addCopies();
    addPieces();
    addSwap();
    addDevices();
    return std::move(ways);
  }

private:
  void addRecompute() {
    if (!settings) {
      // A YAML with only some sections does not say how many layers there are.
      if (isDynamic() || getParallel().seqSplitNum > 1)
        return;
      MemoryChoice choice{"recompute_config.recompute",
                          "as given",
                          "True",
                          {{"recompute_config.recompute", true}}};
      choice.isPlannable = true;
      return add(std::move(choice));
    }
    MemorySettings all = recomputeAll(countLayers(config), *settings->offset);
    if (settings->recompute == all.recompute || getParallel().seqSplitNum > 1)
      return;
    MemoryChoice choice{isDynamic() ? "recompute"
                                    : "recompute_config.recompute",
                        "as given", "all layers"};
    choice.settings = std::move(all);
    choice.isPlannable = true;
    add(std::move(choice));
  }

  void addSwap() {
    if (!settings || (isDynamic() && getParallel().pipelineStage > 1))
      return;
    SwapItem item;
    for (int64_t layer = 0; layer < countLayers(config); ++layer)
      item.layers.push_back(layer);
    MemoryChoice choice{isDynamic() ? "swap" : "swap_config", "as given",
                        "all layers"};
    choice.settings.emplace().swap = {item};
    choice.isPlannable = true;
    if (settings->swap != choice.settings->swap)
      add(std::move(choice));
  }

  void addLossPieces() {
    constexpr int64_t mostPieces = 16;
    if (!isDynamic() || input.lowering.lossChunks > 0)
      return;
    const std::string key = "model." + keys::chunkLossNum.getName().str();
    for (int64_t pieces = 2 * config.chunkLossNum; pieces <= mostPieces;
         pieces *= 2)
      add({key,
           std::to_string(config.chunkLossNum),
           std::to_string(pieces),
           {{key, pieces}}});
  }

  void addSequence() {
    if (!isDynamic() && getParallel().isSemiOrAuto() &&
        getParallel().modelParallel > 1 && !getParallel().useSeqParallel) {
      MemoryChoice choice{"parallel_config.use_seq_parallel",
                          "False",
                          "True",
                          {{"parallel_config.use_seq_parallel", true}}};
      choice.changesModel = true;
      add(std::move(choice));
    }
  }

  /// Pieces of a sequence need a schedule for them, and exclude full recompute.
  void addPieces() {
    if (isDynamic() || !getParallel().isSemiOrAuto() ||
        !input.lowering.schedule.empty())
      return;
    constexpr int64_t mostPieces = 4;
    for (int64_t pieces = 2 * getParallel().seqSplitNum; pieces <= mostPieces;
         pieces *= 2) {
      MemoryChoice choice{"parallel_config.seq_split_num",
                          std::to_string(getParallel().seqSplitNum),
                          std::to_string(pieces),
                          {{"parallel_config.seq_split_num", pieces}}};
      if (getParallel().pipelineStage > 1 && getParallel().seqSplitNum == 1) {
        choice.changes.push_back(
            {"parallel.pipeline_config.pipeline_interleave", true});
        choice.changes.push_back(
            {"parallel.pipeline_config.pipeline_scheduler", "seqpipe"});
      }
      if (config.recompute.recompute.isTruthy())
        choice.changes.push_back({"recompute_config.recompute", false});
      choice.changesModel = true;
      add(std::move(choice));
    }
  }

  /// More and smaller micro-batches, of as many samples together.
  void addMicroBatches() {
    const bool hasStages = getParallel().pipelineStage > 1;
    if (!getParallel().isSemiOrAuto() ||
        (!hasStages && input.lowering.gradientAccumulationSteps > 0))
      return;
    const std::string key =
        isDynamic() ? "training.local_batch_size" : "runner_config.batch_size";
    for (int64_t size = batch.batchSize / 2; size >= 1; size /= 2) {
      if (batch.batchSize % size != 0)
        break;
      MemoryChoice choice{key, std::to_string(batch.batchSize),
                          std::to_string(size)};
      choice.settings.emplace().batchSize = size;
      choice.passes = {batch.batchSize / size, 1};
      choice.changesModel = true;
      add(std::move(choice));
    }
  }

  /// Copies of the network that run in a pass become passes of their own.
  void addCopies() {
    const int64_t copies = batch.microBatchInterleaveNum;
    const bool hasStages = getParallel().pipelineStage > 1;
    if (isDynamic() || copies == 1 || !getParallel().isSemiOrAuto() ||
        (!hasStages && input.lowering.gradientAccumulationSteps > 0))
      return;
    MemoryChoice choice{"micro_batch_interleave_num",
                        std::to_string(copies),
                        "1",
                        {{"micro_batch_interleave_num", int64_t(1)}}};
    choice.passes = {copies, 1};
    choice.changesModel = true;
    add(std::move(choice));
  }

  /// Twice as many devices for the same samples. In a YAML of the dynamic graph
  /// their number follows from the environment.
  void addDevices() {
    if (isDynamic() || !getParallel().isSemiOrAuto() || !settings)
      return;
    auto makeChoice = [](StringRef key, int64_t given) {
      MemoryChoice choice{("parallel_config." + key).str(),
                          std::to_string(given), std::to_string(2 * given)};
      choice.changesModel = true;
      choice.settings.emplace();
      return choice;
    };
    const int64_t stages = getParallel().pipelineStage;
    MemoryChoice data = makeChoice("data_parallel", getParallel().dataParallel);
    data.settings->dataParallel = 2 * getParallel().dataParallel;
    data.settings->optimizerSharding = true;
    data.passes = {1, 2};
    add(std::move(data), true);
    MemoryChoice model =
        makeChoice("model_parallel", getParallel().modelParallel);
    model.settings->modelParallel = 2 * getParallel().modelParallel;
    model.settings->sequenceParallel = true;
    add(std::move(model), true);
    MemoryChoice deeper = makeChoice("pipeline_stage", stages);
    const int64_t layers = countLayers(config);
    const int64_t chunks = settings->interleave.value_or(1);
    if (2 * stages * chunks <= layers) {
      const StageTable offset = dealLayersEvenly(layers, 2 * stages, chunks);
      deeper.settings = recomputeAll(layers, offset);
      deeper.settings->stages = 2 * stages;
      deeper.settings->offset = offset;
      deeper.passes = {1, 1};
      if (batch.getPasses() >= 2 * stages)
        add(std::move(deeper), true);
    }
    MemoryChoice context =
        makeChoice("context_parallel", getParallel().contextParallel);
    context.settings->contextParallel = 2 * getParallel().contextParallel;
    add(std::move(context), true);
  }

  bool isDynamic() const { return config.isOfDynamicGraph(); }
  const ParallelConfig &getParallel() const { return config.parallel; }

  const TrainingConfig &config;
  const CompilerInput &input;
  const bool mayChangeModel;
  EffectiveBatch batch;
  /// The settings of the YAML, if it describes its layers.
  std::optional<MemorySettings> settings;
  std::vector<MemoryWay> ways;
};

} // namespace

Expected<std::vector<MemoryWay>> planner::findWays(const CompilerInput &input,
                                                   StringRef yaml) {
  DiagnosticList diagnostics;
  const TrainingConfig config =
      parseTrainingConfig(yaml, input.fileName, diagnostics);
  if (diagnostics.hasErrors())
    return toError(diagnostics);
  Expected<std::vector<MemoryChoice>> choices = findChoices(input, yaml);
  if (!choices)
    return choices.takeError();
  WayFinder finder(config, input, hasOwnModel(input, yaml));
  for (MemoryChoice &choice : *choices)
    // The others need options of mf, which no YAML has.
    if (!choice.changes.empty())
      finder.add(std::move(choice));
  return finder.find();
}
