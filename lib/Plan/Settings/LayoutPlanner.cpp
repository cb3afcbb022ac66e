//===- LayoutPlanner.cpp - Plans one layout -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Plan/Settings/LayoutPlanner.h"
#include "mf/Frontend/Config/BatchRules.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "mf/Frontend/Config/MemorySize.h"
#include "mf/Frontend/Config/ModelKeys.h"
#include "mf/Frontend/Config/PipelineSchedulers.h"
#include "mf/Frontend/Config/StageMap.h"
#include "mf/Frontend/Config/YamlReader.h"
#include "mf/Frontend/Import/ModelReader.h"
#include "mf/Perf/Target/Topology.h"
#include "mf/Plan/Solver/Solver.h"
#include "mf/Support/Diagnostic.h"
#include <cmath>

using namespace mf;
using namespace mf::planner;
using llvm::Error;
using llvm::Expected;

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

double LayoutBounds::getLeastBytes(const DeviceLayout &layout) const {
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

double LayoutBounds::getLeastSeconds(const DeviceLayout &layout,
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
double LayoutBounds::getLeastStepSeconds(const DeviceLayout &layout,
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
static void readModelBounds(const TrainingConfig &config, const ModelSpec &spec,
                            LayoutBounds &bounds) {
  LayoutRules &rules = bounds.rules;
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
                               !getFamily(spec.family).isMcore) > 1;
  }
  bounds.parameters = getParameterCount(spec).value_or(0);
  if (spec.experts) {
    ModelSpec dense = spec;
    dense.experts->numExperts = 0;
    bounds.routedParameters =
        bounds.parameters -
        getParameterCount(dense).value_or(bounds.parameters);
  }
  bounds.parameterBytes = getBytes(spec.paramType);
  // States are in fp32 whatever the type of parameters, and swapped states are
  // not on the device. Muon has only a momentum for matrices, which are nearly
  // all parameters.
  const int64_t states = config.optimizer.muon      ? 1
                         : config.optimizer.average ? 3
                                                    : 2;
  bounds.stateBytes = states * getBytes(DType::F32);
  // Came has a first moment in the parameter's type, and means of rows and
  // columns, which are small.
  if (config.optimizer.came)
    bounds.stateBytes = bounds.parameterBytes;
  if (config.optimizer.swap)
    bounds.stateBytes = 0;
  bounds.gradientBytes = bounds.parameterBytes;
  bounds.shardsGradients = config.parallel.optimizerShard.level > 1;
  // The dynamic graph always shares parameters out, and on one stage in each
  // micro-batch.
  bounds.sharesByMicroBatch = rules.alwaysShards =
      config.parallel.fullySharded.has_value();
  if (config.parallel.optimizerShard.level < 3)
    bounds.gatheredBytes =
        std::min(bounds.parameterBytes, getBytes(spec.computeType));
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
                      LayoutBounds &bounds) {
  // The sections of the dynamic graph are a translation of those in the file.
  if (bounds.rules.alwaysShards)
    return;
  const llvm::StringRef key = keys::numLayers.findName(config.model.config);
  if (config.model.config[key].getInt() == depth) {
    bounds.depthPath = "model.model_config." + key.str();
    bounds.depth = depth;
  }
}

static bool waitsWhileFilling(const TrainingConfig &config,
                              const PlanRequest &request) {
  const llvm::StringRef name =
      request.input.lowering.schedule.empty()
          ? getScheduleName(config.parallel)
          : llvm::StringRef(request.input.lowering.schedule);
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

Expected<LayoutBounds> planner::readLayoutBounds(const PlanRequest &request,
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
  LayoutBounds bounds;
  bounds.given = readGiven(config, batch, spec->ranks);
  bounds.waitsWhileFilling = waitsWhileFilling(config, request);
  bounds.interleave = stages.interleave;
  bounds.rules.devices = devices;
  bounds.rules.samples =
      batch.batchSize * batch.dataParallel * batch.getPasses();
  bounds.rules.batchSize = batch.batchSize;
  bounds.rules.optimizerSharding = bounds.given.optimizerSharding;
  if (!request.target.networks.empty())
    bounds.rules.nodeRanks = request.target.networks.front().size;
  readModelBounds(config, *spec, bounds);
  findDepth(config, spec->numLayers, bounds);
  for (const target::ComputeEngine &engine : request.target.engines)
    if (engine.engine == Engine::Cube)
      for (const target::Peak &peak : engine.peaks)
        bounds.peakFlopsPerSecond =
            std::max(bounds.peakFlopsPerSecond, peak.flopsPerSecond);
  return bounds;
}

LayoutPlanner::LayoutPlanner(const LayoutSetting &setting, DeviceLayout layout,
                             bool recomputeTasks, LayerClass &layerClass)
    : setting(setting), layout(layout), recomputeTasks(recomputeTasks),
      layerClass(layerClass),
      passTime(layerClass.times[layout.optimizerSharding ? 1 : 0]),
      request(setting.request) {
  if (passTime.least.getNumRanks() == 1 ||
      layout.getReplicas() < passTime.least.getReplicas())
    passTime.least = layout;
  if (request.progress)
    request.progress = [this](llvm::StringRef text) {
      this->setting.request.progress(this->layout.describe() + ": " +
                                     text.str());
    };
}

double LayoutPlanner::getExpectedSeconds(double flops) const {
  if (estimate)
    return *estimate;
  return std::max(
      foreseen, hasPassTime() ? getPassSeconds()
                              : setting.bounds.getLeastSeconds(layout, flops));
}

Promise LayoutPlanner::getPromise() const {
  if (estimate)
    return Promise::Costs;
  if (foreseen > (hasPassTime() ? getPassSeconds() : 0))
    return Promise::Shallow;
  return hasPassTime() ? Promise::Layers : Promise::Flops;
}

bool LayoutPlanner::teachesClass() const {
  if (!untreated)
    return passTime.seconds == 0 || !passTime.isSampled;
  return !estimate && !layerClass.learned;
}

const CompiledPlan *LayoutPlanner::getBest() const {
  return variant && variant->search.getBest() ? &*variant->search.getBest()
                                              : nullptr;
}

static Error makeTooLargeError(double bytes, int64_t limit,
                               const char *ofWhat) {
  return llvm::make_error<solver::NoPlanError>(
      std::string(ofWhat) + " need " +
      describeMemorySize(static_cast<int64_t>(bytes)) +
      " on each device and more, the limit is " + describeMemorySize(limit));
}

Error LayoutPlanner::checkBytes() const {
  const double least = setting.bounds.getLeastBytes(layout);
  return least > static_cast<double>(setting.limitBytes)
             ? makeTooLargeError(least, setting.limitBytes,
                                 "parameters, gradients and optimizer states")
             : Error::success();
}

//===----------------------------------------------------------------------===//
// Shallow models
//===----------------------------------------------------------------------===//

bool LayoutPlanner::hasShallow() const {
  return setting.shallowDepth > 0 &&
         setting.shallowDepth + 1 < setting.bounds.depth;
}

/// Returns the YAML of a model with fewer layers for a layout, but at most two
/// stages and passes, which compiles in a fraction of the time.
Expected<std::string> LayoutPlanner::makeShallow(DeviceLayout of,
                                                 int64_t depth) const {
  // A second stage takes from ranks what they have only with one stage, as a
  // whole head, and a second pass adds up gradients.
  of.stages = std::min<int64_t>(of.stages, 2);
  of.passes = std::min<int64_t>(of.passes, 2);
  const LayoutBounds &bounds = setting.bounds;
  Expected<std::string> shallow =
      applyKeyChanges(setting.request.yaml, request.input.fileName,
                      {{bounds.depthPath, depth}});
  if (!shallow)
    return shallow.takeError();
  const int64_t behind = bounds.rules.layers - bounds.depth;
  return applySettings(*shallow, request.input.fileName,
                       makeLayoutSettings(of, depth + behind,
                                          /*interleave=*/1, request.keep.swap));
}

Expected<ShallowMeasure> LayoutPlanner::measureShallow(const DeviceLayout &of,
                                                       int64_t depth) {
  Expected<std::string> yaml = makeShallow(of, depth);
  if (!yaml)
    return yaml.takeError();
  CompilerInput input = request.input;
  input.lowering.recomputeTasks |= recomputeTasks;
  ++compiledSamples;
  Expected<CompiledStep> step = compileStep(input, *yaml, PlanEffort::Quick);
  if (!step)
    return step.takeError();
  Expected<StepMeasure> measure =
      measureStep(*step, request.target, /*withCriticalPath=*/false);
  if (!measure)
    return measure.takeError();
  ShallowMeasure made;
  for (const ChunkMeasure &chunk : measure->chunks)
    made.seconds += chunk.forward + chunk.backward;
  for (const StageMeasure &stage : measure->stages)
    made.staticBytes += static_cast<double>(stage.staticBytes);
  return made;
}

/// Returns what the whole model would show, from two shallow models that differ
/// by one layer: all further layers are of its kind. None if they do not
/// compile: then the model itself shows why.
std::optional<ShallowMeasure>
LayoutPlanner::extendShallow(const DeviceLayout &of) {
  if (!hasShallow())
    return std::nullopt;
  const int64_t depth = setting.shallowDepth;
  std::vector<ShallowMeasure> measures;
  for (const int64_t tried : {depth, depth + 1}) {
    Expected<ShallowMeasure> measure = measureShallow(of, tried);
    if (!measure) {
      llvm::consumeError(measure.takeError());
      return std::nullopt;
    }
    measures.push_back(*measure);
  }
  const auto further = static_cast<double>(setting.bounds.depth - depth);
  auto extend = [&](double ShallowMeasure::*member) {
    return measures[0].*member +
           further * std::max(0.0, measures[1].*member - measures[0].*member);
  };
  return ShallowMeasure{extend(&ShallowMeasure::seconds),
                        extend(&ShallowMeasure::staticBytes)};
}

void LayoutPlanner::samplePass() {
  passTime.isSampled = true;
  if (std::optional<ShallowMeasure> whole = extendShallow(passTime.least))
    setPassTime(whole->seconds, passTime.least);
}

/// Checks what lives through the step on a single stage.
Error LayoutPlanner::checkShallow() {
  isForeseen = true;
  if (passTime.seconds == 0)
    return Error::success();
  std::optional<ShallowMeasure> whole = extendShallow(layout);
  return whole ? checkStatics(whole->staticBytes) : Error::success();
}

/// Learns the costs of layers from a shallow model on two stages, whose layers
/// are distributed in up to three ways.
Expected<std::unique_ptr<VariantCosts>> LayoutPlanner::learnShallow() {
  const int64_t depth = setting.shallowDepth + 1;
  Expected<std::string> yaml = makeShallow(layout, depth);
  if (!yaml)
    return yaml.takeError();
  const llvm::ArrayRef<ModelLayer> all = setting.layers;
  const auto front = static_cast<size_t>(depth);
  std::vector<ModelLayer> layers = all.take_front(front).vec();
  const llvm::ArrayRef<ModelLayer> behind =
      all.drop_front(static_cast<size_t>(setting.bounds.depth));
  layers.insert(layers.end(), behind.begin(), behind.end());
  auto costs = std::make_unique<VariantCosts>(
      request, std::move(*yaml), std::move(layers), setting.limitBytes,
      /*schedule=*/"", recomputeTasks);
  if (Error error = costs->prepare())
    return std::move(error);
  const std::vector<int64_t> &given = costs->getShape().layers;
  std::vector<std::vector<int64_t>> numbers;
  for (const int64_t more : {1, -1})
    if (given[0] + more > 0 && given[1] - more > 0)
      numbers.push_back({given[0] + more, given[1] - more});
  Error error = costs->learnUntreated(numbers);
  compiledSamples += costs->getCompiledSteps();
  if (error)
    return std::move(error);
  return std::move(costs);
}

/// Finds the least time by the costs of layers in shallow models, which leave
/// out what only a whole step shows. If these do not compile or nothing fits,
/// the model itself shows why.
Error LayoutPlanner::foresee(double cutoff) {
  isForeseen = true;
  // Where other shallow models of the class did not compile, these do not.
  if (!hasShallow() || passTime.seconds == 0)
    return Error::success();
  if (Error error = prepare())
    return error;
  Expected<std::unique_ptr<VariantCosts>> shallow = learnShallow();
  if (!shallow) {
    llvm::consumeError(shallow.takeError());
    return Error::success();
  }
  variant->costs.borrow(**shallow);
  const solver::Problem problem = variant->costs.makeProblem().problem;
  double bytes = 0;
  for (const solver::LayerKind &kind : problem.kinds)
    bytes += static_cast<double>(kind.count) * kind.parameterMemory;
  for (const solver::ChunkExtra &extra : problem.extras)
    bytes += extra.parameterMemory;
  if (Error error = checkStatics(bytes))
    return error;
  Expected<double> least = solver::findBound(problem, cutoff);
  if (least)
    foreseen = *least;
  else
    llvm::consumeError(least.takeError());
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The model itself
//===----------------------------------------------------------------------===//

/// Makes the YAML of the layout and its pipeline.
Error LayoutPlanner::prepare() {
  Expected<std::string> yaml = applySettings(
      setting.request.yaml, request.input.fileName,
      makeLayoutSettings(layout, setting.bounds.rules.layers,
                         setting.bounds.interleave, request.keep.swap));
  if (!yaml)
    return yaml.takeError();
  request.yaml = *yaml;
  auto made = std::make_unique<PlanVariant>(request, std::move(*yaml),
                                            setting.layers, setting.limitBytes,
                                            /*schedule=*/"", recomputeTasks);
  if (Error error = made->costs.prepare())
    return error;
  variant = std::move(made);
  return Error::success();
}

Error LayoutPlanner::measure() {
  if (Error error = variant ? Error::success() : prepare())
    return error;
  Expected<StepMeasure> measured = variant->costs.measureUntreated();
  if (!measured)
    return measured.takeError();
  untreated = std::move(*measured);
  if (passTime.seconds == 0) {
    double seconds = 0;
    for (const ChunkMeasure &chunk : untreated->chunks)
      seconds += chunk.forward + chunk.backward;
    setPassTime(seconds, layout);
  }
  double bytes = 0;
  for (const StageMeasure &stage : untreated->stages)
    bytes += static_cast<double>(stage.staticBytes);
  return checkStatics(bytes);
}

/// Fails if parameters, gradients and states of all stages do not fit: however
/// layers are distributed and treated, some stage has at least the average.
Error LayoutPlanner::checkStatics(double bytes) const {
  bytes /= static_cast<double>(layout.stages);
  if (bytes > static_cast<double>(setting.limitBytes))
    return makeTooLargeError(bytes, setting.limitBytes,
                             "parameters, gradients and optimizer states");
  return Error::success();
}

Error LayoutPlanner::estimateStep() {
  if (layerClass.learned) {
    variant->costs.borrow(*layerClass.learned);
  } else {
    if (Error error = variant->costs.learn())
      return error;
    layerClass.learned = &variant->costs;
  }
  variant->costs.observeUntreated(*untreated);
  Expected<double> seconds = variant->search.estimate();
  if (!seconds)
    return llvm::handleErrors(
        seconds.takeError(), [](const solver::NoPlanError &) -> Error {
          return llvm::make_error<solver::NoPlanError>(
              "what layers and micro-batches need does not fit, however layers "
              "are dealt, recomputed or swapped");
        });
  estimate = *seconds;
  return Error::success();
}

Error LayoutPlanner::advance(double cutoff) {
  if (!passTime.isSampled) {
    samplePass();
    return Error::success();
  }
  if (!isForeseen)
    return layout.stages > 1 ? foresee(cutoff) : checkShallow();
  if (!untreated)
    return measure();
  if (!estimate)
    return estimateStep();
  if (Error error = variant->search.run({}))
    return error;
  if (getBest() || request.isStopped())
    return Error::success();
  return variant->costs.makeNoPlanError(*untreated);
}
