//===- LayoutFacts.cpp - Bounds of layouts before compiling ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Plan/Settings/LayoutFacts.h"
#include "mf/Frontend/Config/BatchRules.h"
#include "mf/Frontend/Config/ModelKeys.h"
#include "mf/Frontend/Config/PipelineRules.h"
#include "mf/Frontend/Config/StageMap.h"
#include "mf/Frontend/Config/YamlReader.h"
#include "mf/Frontend/Import/ModelSpec.h"
#include "mf/Perf/Target/Topology.h"
#include "mf/Support/DiagnosticError.h"
#include <cmath>

using namespace mf;
using namespace mf::planner;
using llvm::Error;
using llvm::Expected;

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

double LayoutFacts::getLeastBytes(const DeviceLayout &layout) const {
  const auto divide = [](int64_t count, int64_t ranks) {
    return static_cast<double>(count) / static_cast<double>(ranks);
  };
  const int64_t expertRanks =
      layout.expertParallel * (rules.cutsExperts ? layout.modelParallel : 1);
  const double own = divide(routedParameters, layout.stages * expertRanks) +
                     divide(parameters - routedParameters,
                            layout.stages * layout.modelParallel);
  const double sharded = divide(parameters, layout.getNumRanks());
  const auto bytes = static_cast<double>(parameterBytes + stateBytes);
  const bool accumulates = layout.stages > 1 || layout.passes > 1;
  const auto gradient = static_cast<double>(accumulates ? gradientBytes : 0);
  if (!layout.optimizerSharding)
    return own * (bytes + gradient);
  const bool keepsWhole =
      accumulates && (!sharesByMicroBatch || layout.stages > 1);
  const auto gathered = static_cast<double>(
      keepsWhole && layout.getReplicas() > 1 ? gatheredBytes : 0);
  const bool scatters = shardsGradients || !keepsWhole;
  return sharded * bytes + (scatters ? sharded : own) * gradient +
         std::max(0.0, own - sharded) * gathered;
}

double LayoutFacts::getLeastSeconds(const DeviceLayout &layout,
                                    double flops) const {
  const double seconds =
      flops / static_cast<double>(rules.devices) / peakFlopsPerSecond;
  return getLeastStepSeconds(layout, seconds *
                                         static_cast<double>(layout.stages) /
                                         static_cast<double>(layout.passes));
}

/// Stage s cannot start before the stages in front of it have run a forward,
/// and after its last backward these have to run one: the step takes at least
/// passes * t(s) + (t(0) + .. + t(s-1)) / chunks, where t(s) is the time of a
/// pass on stage s. The largest of these terms is smallest if all are equal.
/// Then the share of t(s) decreases geometrically.
double LayoutFacts::getLeastStepSeconds(const DeviceLayout &layout,
                                        double seconds) const {
  const auto passes = static_cast<double>(layout.passes);
  const auto stages = static_cast<double>(layout.stages);
  if (!waitsWhileFilling || layout.stages == 1)
    return seconds * passes / stages;
  const bool canInterleave = layout.stages * interleave <= rules.layers;
  const auto chunks = static_cast<double>(canInterleave ? interleave : 1);
  const double share = 1 / (passes * chunks);
  return seconds / chunks / (1 - std::pow(1 - share, stages));
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Reads the rules that depend on the model.
static void readModelFacts(const TrainingConfig &config, const ModelSpec &spec,
                           LayoutFacts &facts) {
  LayoutRules &rules = facts.rules;
  rules.layers = spec.numLayers;
  rules.heads = spec.numHeads;
  rules.keyValueHeads = getFamily(spec.family).copiesKeyValueHeads
                            ? spec.numHeads
                            : spec.numKeyValueHeads;
  rules.sequenceLength = spec.sequenceLength;
  rules.allowsContext = spec.usesFlashAttention;
  if (spec.experts) {
    rules.experts = spec.experts->numExperts;
    rules.cutsExperts =
        getExpertModelParallel(config, spec.ranks,
                               spec.family != ModelFamily::Mcore) > 1;
  }
  facts.parameters = getParameterCount(spec).value_or(0);
  if (spec.experts) {
    ModelSpec dense = spec;
    dense.experts->numExperts = 0;
    facts.routedParameters =
        facts.parameters - getParameterCount(dense).value_or(facts.parameters);
  }
  facts.parameterBytes = getBytes(spec.paramType);
  // States are in fp32 whatever the type of parameters, and swapped states are
  // not on the device. Muon has only a momentum for matrices, which are nearly
  // all parameters.
  const int64_t states = config.optimizer.muon      ? 1
                         : config.optimizer.average ? 3
                                                    : 2;
  facts.stateBytes = states * getBytes(DType::F32);
  // Came has a first moment in the parameter's type, and means of rows and
  // columns, which are small.
  if (config.optimizer.came)
    facts.stateBytes = facts.parameterBytes;
  if (config.optimizer.swap)
    facts.stateBytes = 0;
  facts.gradientBytes = facts.parameterBytes;
  facts.shardsGradients = config.parallel.optimizerShard.level > 1;
  // The dynamic graph always shares parameters out, and on one stage in each
  // micro-batch.
  facts.sharesByMicroBatch = rules.alwaysShards =
      config.parallel.fullySharded.has_value();
  if (config.parallel.optimizerShard.level < 3)
    facts.gatheredBytes =
        std::min(facts.parameterBytes, getBytes(spec.computeType));
}

static DeviceLayout readGiven(const TrainingConfig &config,
                              const EffectiveBatch &batch,
                              const RankLayout &ranks) {
  DeviceLayout given;
  given.dataParallel = ranks.dataParallel;
  given.modelParallel = ranks.modelParallel;
  given.contextParallel = ranks.contextParallel;
  given.expertParallel = ranks.expertParallel;
  given.stages = ranks.pipelineStages;
  given.sequenceParallel = ranks.sequenceParallel;
  given.optimizerSharding = config.parallel.enableParallelOptimizer ||
                            config.parallel.fullySharded.has_value();
  given.passes = batch.getPasses();
  given.batchSize = batch.batchSize;
  return given;
}

/// Finds the key of the number of layers. A model whose layers another file
/// describes does not have it.
static void findDepth(const TrainingConfig &config, int64_t depth,
                      LayoutFacts &facts) {
  // The sections of the dynamic graph are a translation of those in the file.
  if (facts.rules.alwaysShards)
    return;
  const StringRef key = keys::numLayers.findName(config.model.config);
  if (config.model.config[key].getInt() == depth) {
    facts.depthPath = "model.model_config." + key.str();
    facts.depth = depth;
  }
}

static bool waitsWhileFilling(const TrainingConfig &config,
                              const PlanRequest &request) {
  const llvm::StringRef name = request.input.schedule.empty()
                                   ? getScheduleName(config.parallel)
                                   : llvm::StringRef(request.input.schedule);
  return name == "1f1b" || name == "gpipe";
}

static Error checkMode(const TrainingConfig &config, llvm::StringRef fileName) {
  if (config.parallel.isSemiOrAuto())
    return Error::success();
  DiagnosticList diagnostics;
  const Node key = config.parallel.useParallelNode;
  diagnostics.error(
      key ? key.getLocation() : Location{fileName.str(), 0, 0},
      "layouts are for semi-auto parallel mode; expected use_parallel True and "
      "parallel_mode 1");
  return toError(diagnostics);
}

Expected<LayoutFacts> planner::readLayoutFacts(const PlanRequest &request,
                                               int64_t devices) {
  const std::string &fileName = request.input.fileName;
  DiagnosticList diagnostics;
  TrainingConfig config =
      parseTrainingConfig(request.yaml, fileName, diagnostics);
  if (diagnostics.hasErrors())
    return toError(diagnostics);
  if (Error error = checkMode(config, fileName))
    return error;
  if (!request.input.pretrainedConfig.empty())
    addPretrainedConfig(
        parseYamlFile(request.input.pretrainedConfig, diagnostics), config,
        diagnostics);
  const EffectiveBatch batch = resolveBatch(config, std::nullopt, diagnostics);
  const StageMapOptions stages = getStageMapOptions(config, diagnostics);
  if (diagnostics.hasErrors())
    return toError(diagnostics);
  const std::optional<ModelSpec> spec = readModelSpec(config, {}, diagnostics);
  if (!spec)
    return toError(diagnostics);
  if (auto topology = target::Topology::create(request.target, devices);
      !topology)
    return topology.takeError();
  LayoutFacts facts;
  facts.given = readGiven(config, batch, spec->ranks);
  facts.waitsWhileFilling = waitsWhileFilling(config, request);
  facts.interleave = stages.interleave;
  facts.rules.devices = devices;
  facts.rules.samples =
      batch.batchSize * batch.dataParallel * batch.getPasses();
  facts.rules.batchSize = batch.batchSize;
  facts.rules.optimizerSharding = facts.given.optimizerSharding;
  if (!request.target.networks.empty())
    facts.rules.nodeRanks = request.target.networks.front().size;
  readModelFacts(config, *spec, facts);
  findDepth(config, spec->numLayers, facts);
  for (const target::ComputeEngine &engine : request.target.engines)
    if (engine.engine == Engine::Cube)
      for (const target::Peak &peak : engine.peaks)
        facts.peakFlopsPerSecond =
            std::max(facts.peakFlopsPerSecond, peak.flopsPerSecond);
  return facts;
}
