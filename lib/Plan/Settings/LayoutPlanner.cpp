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
      layerClass(layerClass), request(setting.request), clock(request) {
  if (request.progress)
    request.progress = [this](llvm::StringRef text) {
      this->setting.request.progress(this->layout.describe() + ": " +
                                     text.str());
    };
}

double LayoutPlanner::getExpectedSeconds(double flops) const {
  if (estimate)
    return *estimate;
  if (layerClass.seconds > 0)
    return setting.facts.getLeastStepSeconds(layout, layerClass.seconds);
  return setting.facts.getLeastSeconds(layout, flops);
}

Promise LayoutPlanner::getPromise() const {
  return estimate                 ? Promise::Costs
         : layerClass.seconds > 0 ? Promise::Layers
                                  : Promise::Flops;
}

bool LayoutPlanner::teachesClass() const {
  if (!untreated)
    return layerClass.seconds == 0 || !layerClass.isSampled;
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

/// Returns the time of a pass of a model with fewer layers, which compiles in a
/// fraction of the time.
Expected<double> LayoutPlanner::measureShallow(int64_t depth) {
  // A second stage takes from ranks what they have only with one stage, as a
  // whole head.
  DeviceLayout sample = layout;
  sample.stages = std::min<int64_t>(layout.stages, 2);
  sample.passes = 2;
  const LayoutFacts &facts = setting.facts;
  Expected<std::string> shallow = applyKeyChanges(
      setting.request.yaml, request.input.fileName, {{facts.depthPath, depth}});
  if (!shallow)
    return shallow.takeError();
  const int64_t behind = facts.rules.layers - facts.depth;
  Expected<std::string> yaml =
      applySettings(*shallow, request.input.fileName,
                    makeLayoutSettings(sample, depth + behind,
                                       /*interleave=*/1, request.keep.swap));
  if (!yaml)
    return yaml.takeError();
  CompilerInput input = request.input;
  input.recomputeTasks |= recomputeTasks;
  ++compiledSamples;
  Expected<CompiledStep> step = compileStep(input, *yaml, PlanEffort::Quick);
  if (!step)
    return step.takeError();
  Expected<StepMeasure> measure = measureStep(*step, request.target);
  if (!measure)
    return measure.takeError();
  double seconds = 0;
  for (const ChunkMeasure &chunk : measure->chunks)
    seconds += chunk.forward + chunk.backward;
  return seconds;
}

/// Learns the time of a pass from two shallow models: they differ by one layer,
/// and all further layers are of its kind. If they do not compile, the time is
/// learned from the model itself.
Error LayoutPlanner::sampleClass() {
  layerClass.isSampled = true;
  const int64_t depth = setting.shallowDepth;
  if (depth == 0 || depth + 1 >= setting.facts.depth)
    return Error::success();
  Expected<double> first = measureShallow(depth);
  if (!first) {
    llvm::consumeError(first.takeError());
    return Error::success();
  }
  Expected<double> second = measureShallow(depth + 1);
  if (!second) {
    llvm::consumeError(second.takeError());
    return Error::success();
  }
  const auto further = static_cast<double>(setting.facts.depth - depth);
  layerClass.seconds = *first + further * std::max(0.0, *second - *first);
  return Error::success();
}

/// Makes the YAML of the layout and its pipeline.
Error LayoutPlanner::prepare() {
  Expected<std::string> yaml = applySettings(
      setting.request.yaml, request.input.fileName,
      makeLayoutSettings(layout, setting.facts.rules.layers,
                         setting.facts.interleave, request.keep.swap));
  if (!yaml)
    return yaml.takeError();
  request.yaml = *yaml;
  auto made = std::make_unique<PlanVariant>(request, clock, std::move(*yaml),
                                            setting.layers, setting.limitBytes,
                                            /*schedule=*/"", recomputeTasks);
  if (Error error = made->costs.prepare())
    return error;
  variant = std::move(made);
  return Error::success();
}

Error LayoutPlanner::measure() {
  if (Error error = prepare())
    return error;
  Expected<StepMeasure> measured = variant->costs.measureUntreated();
  if (!measured)
    return measured.takeError();
  untreated = std::move(*measured);
  if (layerClass.seconds == 0)
    for (const ChunkMeasure &chunk : untreated->chunks)
      layerClass.seconds += chunk.forward + chunk.backward;
  return checkStatics();
}

/// Fails if parameters, gradients and states do not fit: however layers are
/// distributed and treated, some stage has at least the average of all stages.
Error LayoutPlanner::checkStatics() const {
  double bytes = 0;
  for (const StageMeasure &stage : untreated->stages)
    bytes += static_cast<double>(stage.staticBytes);
  bytes /= static_cast<double>(untreated->stages.size());
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

Error LayoutPlanner::advance(double seconds) {
  request.timeLimit = seconds;
  clock.restart();
  if (Error error = untreated ? Error::success() : checkBytes())
    return error;
  if (!layerClass.isSampled)
    return sampleClass();
  if (!untreated)
    return measure();
  if (!estimate)
    return estimateStep();
  if (Error error = variant->search.run({}))
    return error;
  if (getBest() || clock.isOver())
    return Error::success();
  return variant->costs.makeNoPlanError(*untreated);
}
