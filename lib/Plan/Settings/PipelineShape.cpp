//===- PipelineShape.cpp - The pipeline of a YAML -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Plan/Settings/PipelineShape.h"
#include "mf/Frontend/Config/BatchRules.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "mf/Frontend/Config/PipelineSchedulers.h"
#include "mf/Pipeline/Policy.h"
#include "mf/Support/Diagnostic.h"

using namespace mf;
using namespace mf::planner;
using llvm::Error;
using llvm::Expected;

/// Places the chunks of the shape by its policy.
static Expected<schedule::Pipeline> place(const PipelineShape &shape) {
  Expected<const schedule::Policy *> policy =
      schedule::findPolicy(shape.schedule);
  if (!policy)
    return policy.takeError();
  return (*policy)->place(shape.stages, shape.interleave, shape.microBatches,
                          shape.pieces);
}

Error PipelineShape::checkPieces() const {
  if (pieces == 1)
    return Error::success();
  return llvm::createStringError(
      "steps with seq_split_num above 1 cannot be planned: the pieces of a "
      "sequence cost differently; set their lists by hand, or plan without "
      "it");
}

Expected<schedule::Schedule> PipelineShape::buildSchedule() const {
  Expected<schedule::Pipeline> pipeline = place(*this);
  if (!pipeline)
    return pipeline.takeError();
  const schedule::Policy &policy = *cantFail(schedule::findPolicy(schedule));
  if (recomputeTasks)
    policy.chooseRecompute(*pipeline);
  return schedule::buildSchedule(policy, *pipeline);
}

/// Distributes the layers over the chunks as the compiler does.
static Error dealLayers(const TrainingConfig &config, size_t numLayers,
                        PipelineShape &shape) {
  Expected<schedule::Pipeline> pipeline = place(shape);
  if (!pipeline)
    return pipeline.takeError();
  DiagnosticList diagnostics;
  StageMapOptions options = getStageMapOptions(config, diagnostics);
  const auto all = static_cast<int64_t>(numLayers);
  options.mtpLayers = std::min(options.mtpLayers, all);
  options.numLayers = all - options.mtpLayers;
  options.visits = pipeline->stageOfChunk;
  std::optional<StageMap> map;
  if (!diagnostics.hasErrors() && checkLayerCount(options, diagnostics))
    map = StageMap::create(options, diagnostics);
  if (!map)
    return toError(diagnostics);
  for (int64_t chunk = 0; chunk < map->getNumChunks(); ++chunk)
    for (int64_t position = 0; position < map->getNumStages(); ++position)
      shape.layers.push_back(static_cast<int64_t>(
          map->getLayers(map->getStage(chunk, position), chunk).size()));
  shape.numFollowers = all - map->getNumCounted();
  // With one mini stage an offset does not show what it counts.
  const bool countsAll = shape.numFollowers == 0 && shape.layers.size() > 1;
  shape.numCounted =
      options.mayLeaveOutMtp && !countsAll ? options.numLayers : all;
  return Error::success();
}

Expected<PipelineShape> planner::readShape(const CompilerInput &input,
                                           llvm::StringRef yaml,
                                           size_t numLayers) {
  DiagnosticList diagnostics;
  TrainingConfig config =
      parseTrainingConfig(yaml, input.fileName, diagnostics);
  if (diagnostics.hasErrors())
    return toError(diagnostics);
  if (!input.lowering.schedule.empty())
    config.parallel.pipelineScheduler =
        getSchedulerOf(input.lowering.schedule).str();
  std::optional<int64_t> accumulation;
  if (input.lowering.gradientAccumulationSteps > 0)
    accumulation = input.lowering.gradientAccumulationSteps;
  const EffectiveBatch batch = resolveBatch(config, accumulation, diagnostics);
  const StageMapOptions options = getStageMapOptions(config, diagnostics);
  if (diagnostics.hasErrors())
    return toError(diagnostics);
  PipelineShape shape;
  shape.schedule = input.lowering.schedule.empty()
                       ? getScheduleName(config.parallel).str()
                       : input.lowering.schedule;
  shape.schedule = getScheduleName(shape.schedule, options.interleave).str();
  shape.stages = options.pipelineStages;
  shape.interleave = options.interleave;
  shape.microBatches = batch.getPasses();
  shape.batchSize = batch.batchSize;
  shape.pieces = config.parallel.seqSplitNum;
  const schedule::Policy &policy =
      *cantFail(schedule::findPolicy(shape.schedule));
  shape.recomputeTasks =
      input.lowering.recomputeTasks || policy.separatesRecompute();
  shape.memoryLimit = config.context.maxDeviceMemory;
  if (Error error = dealLayers(config, numLayers, shape))
    return error;
  return shape;
}
