//===- Enumeration.cpp - All plans of a problem ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Enumeration.h"
#include "PlanTesting.h"
#include "mf/Perf/EventEngine/PipelineModel.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>

using namespace mf;
using namespace mf::solver;

namespace {

class Enumerator {
public:
  Enumerator(const Problem &problem,
             llvm::function_ref<bool(const Plan &)> visit)
      : problem(problem), visit(visit) {
    for (auto [index, kind] : llvm::enumerate(problem.kinds))
      kinds.insert(kinds.end(), kind.count, index);
    const ChunkPlan empty = {std::vector<std::vector<int64_t>>(
        problem.kinds.size(),
        std::vector<int64_t>(problem.getNumTreatments(), 0))};
    plan.chunks.resize(problem.schedule.pipeline.getNumChunks(), empty);
  }

  /// Layers from `layer` on go to the chunks from `chunk` on.
  bool deal(size_t chunk, size_t layer) {
    if (chunk == plan.chunks.size())
      return layer < kinds.size() || visit(plan);
    return treat(chunk, layer, 0);
  }

private:
  /// The chunk has `taken` layers; it may take the next one, treated in any
  /// way. If all layers are of one kind, only the numbers count: treatments
  /// ascend.
  bool treat(size_t chunk, size_t layer, int64_t taken, size_t treatment = 0) {
    const bool isFixed = !problem.fixedLayers.empty();
    const int64_t most = isFixed ? problem.fixedLayers[chunk]
                         : problem.maxLayersPerChunk > 0
                             ? problem.maxLayersPerChunk
                             : std::numeric_limits<int64_t>::max();
    const int64_t least =
        isFixed ? problem.fixedLayers[chunk] : problem.minLayersPerChunk;
    if (taken >= least && !deal(chunk + 1, layer))
      return false;
    if (taken >= most || layer == kinds.size())
      return true;
    const size_t kind = kinds[layer];
    const bool isFirstOfKind = taken == 0 || kinds[layer - 1] != kind;
    for (size_t i = isFirstOfKind ? 0 : treatment;
         i < problem.getNumTreatments(); ++i) {
      ++plan.chunks[chunk].counts[kind][i];
      const bool goesOn = treat(chunk, layer + 1, taken + 1, i);
      --plan.chunks[chunk].counts[kind][i];
      if (!goesOn)
        return false;
    }
    return true;
  }

  const Problem &problem;
  llvm::function_ref<bool(const Plan &)> visit;
  /// By layer.
  std::vector<size_t> kinds;
  Plan plan;
};

struct EnumeratedCosts {
  std::vector<double> forward, backward, weightGradient, recompute;
  /// By stage.
  std::vector<double> update;
};

EnumeratedCosts addCosts(const Problem &problem, const Plan &plan) {
  const schedule::Pipeline &pipeline = problem.schedule.pipeline;
  EnumeratedCosts costs;
  for (auto *ofChunks : {&costs.forward, &costs.backward, &costs.weightGradient,
                         &costs.recompute})
    ofChunks->resize(plan.chunks.size());
  costs.update.resize(pipeline.stages);
  for (size_t chunk = 0; chunk < plan.chunks.size(); ++chunk) {
    double &update = costs.update[pipeline.stageOfChunk[chunk]];
    for (size_t kind = 0; kind < problem.kinds.size(); ++kind) {
      for (size_t i = 0; i < problem.getNumTreatments(); ++i) {
        const double count = plan.chunks[chunk].counts[kind][i];
        const Treatment &treatment = problem.kinds[kind].treatments[i];
        costs.forward[chunk] += count * treatment.forward;
        costs.backward[chunk] += count * treatment.backward;
        costs.weightGradient[chunk] += count * treatment.weightGradient;
        costs.recompute[chunk] += count * treatment.recompute;
        update += count * problem.kinds[kind].updateTime;
      }
    }
    for (const ChunkExtra &extra : problem.extras) {
      if (extra.chunk != static_cast<int64_t>(chunk))
        continue;
      costs.forward[chunk] += extra.forward;
      costs.backward[chunk] += extra.backward;
      costs.weightGradient[chunk] += extra.weightGradient;
      update += extra.updateTime;
    }
  }
  return costs;
}

double simulateStep(const Problem &problem, const EnumeratedCosts &step) {
  events::PipelineCosts costs;
  costs.forward = step.forward;
  costs.backward = step.backward;
  if (!problem.schedule.pipeline.recomputed.empty()) {
    costs.recompute = step.recompute;
    // Roundings may make it negative.
    for (auto [backward, recompute] :
         llvm::zip_equal(costs.backward, costs.recompute))
      backward = std::max(0.0, backward - recompute);
  }
  // Roundings may make it longer than the backward.
  for (auto [weightGradient, backward] :
       llvm::zip_equal(step.weightGradient, costs.backward))
    costs.weightGradient.push_back(std::min(weightGradient, backward));
  costs.transfers = problem.transferTime > 0 ? events::TransferMode::Overlapped
                                             : events::TransferMode::Free;
  costs.transferTime = problem.transferTime;
  costs.pairHidden = problem.pairHidden;
  const events::PipelineTimeline timeline =
      llvm::cantFail(simulatePipeline(problem.schedule, costs));
  double end = 0;
  for (auto [stageEnd, update] :
       llvm::zip_equal(timeline.stageEnds, step.update))
    end = std::max(end, stageEnd + update);
  return end;
}

/// No step is shorter than what a stage has to do.
double getLongestWork(const Problem &problem, const EnumeratedCosts &step) {
  std::vector<double> work = step.update;
  // Not all micro-batches need recompute.
  const bool hasTasks = !problem.schedule.pipeline.recomputed.empty();
  for (auto [chunk, stage] :
       llvm::enumerate(problem.schedule.pipeline.stageOfChunk))
    // All of the shorter one may be hidden.
    work[stage] += problem.schedule.pipeline.microBatches *
                   (problem.schedule.pairs.empty()
                        ? step.forward[chunk] + step.backward[chunk] -
                              (hasTasks ? step.recompute[chunk] : 0)
                        : 0);
  return *llvm::max_element(work);
}

} // namespace

void enumeratePlans(const Problem &problem,
                    llvm::function_ref<bool(const Plan &)> visit) {
  Enumerator(problem, visit).deal(0, 0);
}

double simulateStep(const Problem &problem, const Plan &plan) {
  return simulateStep(problem, addCosts(problem, plan));
}

std::optional<double> findLeastTime(const Problem &problem) {
  std::optional<double> least;
  enumeratePlans(problem, [&](const Plan &plan) {
    const EnumeratedCosts costs = addCosts(problem, plan);
    if (least && getLongestWork(problem, costs) > *least)
      return true;
    if (llvm::Error error = plan.verify(problem)) {
      consumeError(std::move(error));
      return true;
    }
    const double time = simulateStep(problem, costs);
    least = std::min(least.value_or(time), time);
    return true;
  });
  return least;
}
