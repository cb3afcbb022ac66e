//===- Probes.cpp - Steps that are compiled to learn costs ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Plan/Settings/Probes.h"
#include "lib/Plan/Settings/ParallelWork.h"
#include <algorithm>

using namespace mf;
using namespace mf::planner;
using llvm::Error;
using llvm::Expected;

/// Gives every second chunk one layer more and its neighbour one less, if that
/// has at least two.
static std::vector<int64_t> varyLayers(llvm::ArrayRef<int64_t> layersOfChunk,
                                       bool swaps) {
  std::vector<int64_t> varied = layersOfChunk.vec();
  for (size_t chunk = 0; chunk + 1 < varied.size(); chunk += 2) {
    int64_t &more = varied[swaps ? chunk : chunk + 1];
    int64_t &less = varied[swaps ? chunk + 1 : chunk];
    if (less > 1) {
      ++more;
      --less;
    }
  }
  return varied;
}

/// Returns the number of steps in which each treatment is that of an inner
/// stage, which has nothing but layers. One step shows them all if there are
/// enough stages, but not with different numbers of layers.
static size_t countProbes(size_t numTreatments, size_t numStages) {
  if (numStages <= 2)
    return numTreatments;
  const size_t numInner = numStages - 2;
  const size_t count = (numTreatments + numInner - 1) / numInner;
  return std::min(numTreatments, std::max<size_t>(count, 2));
}

std::vector<Assignment>
planner::makeProbes(const PlanContext &context,
                    llvm::ArrayRef<int64_t> layersOfChunk, bool keepsLayers) {
  const schedule::Pipeline &pipeline = context.schedule.pipeline;
  const size_t numTreatments = context.treatments.size();
  const auto numStages = static_cast<size_t>(pipeline.stages);
  const size_t numProbes = countProbes(numTreatments, numStages);
  const size_t distance = (numTreatments + numProbes - 1) / numProbes;
  // With fewer probes, the given numbers of layers are left to the step without
  // recompute, and the first stage gets another treatment first.
  const size_t shift = numProbes < numTreatments ? 1 : 0;
  std::vector<Assignment> probes;
  for (size_t probe = 0; probe < numProbes; ++probe) {
    Assignment assignment;
    assignment.layersOfChunk = layersOfChunk.vec();
    const size_t turn = (probe + shift) % 3;
    if (!keepsLayers && turn != 0)
      assignment.layersOfChunk = varyLayers(layersOfChunk, turn == 1);
    // All chunks of a stage have one treatment, so that the stage's peak is due
    // to it. In a chunk, at most one layer of each kind is swapped, because
    // copies of several layers would delay one another.
    for (size_t chunk = 0; chunk < layersOfChunk.size(); ++chunk) {
      const size_t treatment =
          (static_cast<size_t>(pipeline.stageOfChunk[chunk]) + shift +
           probe * distance) %
          numTreatments;
      const bool swaps = context.treatments[treatment].prefetch > 0;
      std::set<size_t> kinds;
      for (int64_t index = 0; index < assignment.layersOfChunk[chunk];
           ++index) {
        const size_t layer = assignment.treatments.size();
        const bool isFirst = kinds.insert(context.layers[layer].kind).second;
        assignment.treatments.push_back(swaps && !isFirst ? numTreatments - 1
                                                          : treatment);
      }
    }
    probes.push_back(std::move(assignment));
  }
  return probes;
}

Expected<CompiledAssignment>
AssignmentCompiler::compile(const Assignment &assignment,
                            PlanEffort effort) const {
  CompiledAssignment compiled;
  compiled.settings = makeSettings(assignment);
  Expected<std::string> edited =
      applySettings(yaml, input.fileName, compiled.settings);
  if (!edited)
    return edited.takeError();
  compiled.yaml = std::move(*edited);
  Expected<CompiledStep> step = compileStep(input, compiled.yaml, effort);
  if (!step)
    return step.takeError();
  compiled.step = std::move(*step);
  return compiled;
}

Expected<std::vector<LayerObservation>>
AssignmentCompiler::measure(llvm::ArrayRef<Assignment> assignments) const {
  std::vector<LayerObservation> observations(assignments.size());
  auto measureOne = [&](size_t index) -> Error {
    if (isOver && isOver())
      return Error::success();
    Expected<CompiledAssignment> compiled =
        compile(assignments[index], PlanEffort::Quick);
    if (!compiled)
      return compiled.takeError();
    Expected<StepMeasure> measure =
        measureStep(compiled->step, target, /*withCriticalPath=*/false);
    if (!measure)
      return measure.takeError();
    observations[index] = {assignments[index], std::move(*measure)};
    return Error::success();
  };
  const std::vector<std::string> errors =
      runInParallel(assignments.size(), measureOne);
  for (const std::string &error : errors)
    if (!error.empty())
      return llvm::createStringError(error);
  llvm::erase_if(observations, [](const LayerObservation &observation) {
    return observation.assignment.treatments.empty();
  });
  return observations;
}
