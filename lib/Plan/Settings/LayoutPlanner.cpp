//===- LayoutPlanner.cpp - Plans one layout -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Plan/Settings/LayoutPlanner.h"
#include "mf/Frontend/Config/MemorySize.h"
#include "mf/Plan/Solver/NoPlanError.h"

using namespace mf;
using namespace mf::planner;
using llvm::Error;
using llvm::Expected;

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
  return std::max(foreseen, hasPassTime()
                                ? getPassSeconds()
                                : setting.facts.getLeastSeconds(layout, flops));
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
  const double least = setting.facts.getLeastBytes(layout);
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
         setting.shallowDepth + 1 < setting.facts.depth;
}

/// Returns the YAML of a model with fewer layers for a layout, but at most two
/// stages and passes, which compiles in a fraction of the time.
Expected<std::string> LayoutPlanner::makeShallow(DeviceLayout of,
                                                 int64_t depth) const {
  // A second stage takes from ranks what they have only with one stage, as a
  // whole head, and a second pass adds up gradients.
  of.stages = std::min<int64_t>(of.stages, 2);
  of.passes = std::min<int64_t>(of.passes, 2);
  const LayoutFacts &facts = setting.facts;
  Expected<std::string> shallow = applyKeyChanges(
      setting.request.yaml, request.input.fileName, {{facts.depthPath, depth}});
  if (!shallow)
    return shallow.takeError();
  const int64_t behind = facts.rules.layers - facts.depth;
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
  input.recomputeTasks |= recomputeTasks;
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
  const auto further = static_cast<double>(setting.facts.depth - depth);
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
      all.drop_front(static_cast<size_t>(setting.facts.depth));
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
      makeLayoutSettings(layout, setting.facts.rules.layers,
                         setting.facts.interleave, request.keep.swap));
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
