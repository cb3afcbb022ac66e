//===- Explain.cpp - Explains why stages have no better option ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ChunkChoices.h"
#include "StepGraph.h"
#include "mf/Plan/Solver/Solver.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

namespace mf::solver {

namespace {

std::vector<int64_t> getLayers(const ChunkPlan &plan) {
  std::vector<int64_t> layers;
  for (const std::vector<int64_t> &counts : plan.counts)
    layers.push_back(std::accumulate(counts.begin(), counts.end(), int64_t(0)));
  return layers;
}

int64_t getTime(const TickCosts &costs) {
  return costs.times[0] + costs.getBackward();
}

class Explainer {
public:
  Explainer(const Problem &problem, const Plan &plan)
      : problem(problem), plan(plan), graph(this->problem),
        choices(this->problem) {
    for (auto [chunk, ofChunk] : llvm::enumerate(plan.chunks))
      costs.push_back(
          this->problem.getCosts(static_cast<int64_t>(chunk), ofChunk));
  }

  std::optional<Refusal> explain(int64_t stage) {
    std::optional<Change> change = findLeastChange(stage);
    if (!change)
      return std::nullopt;
    Refusal refusal;
    refusal.stage = stage;
    refusal.chunks = getChunks(stage, *change);
    refusal.saved =
        problem.getTime(change->saved * problem.get().schedule.pipeline.pieces);
    int64_t missing = change->peak - problem.getLimit(stage);
    if (missing > 0) {
      refusal.missingMemory = problem.getMemory(missing);
      return refusal;
    }
    std::vector<TickCosts> changed = costs;
    changed[problem.getChunks(stage)[change->position]] = change->choice->costs;
    refusal.time =
        problem.getTime(graph.getMakespan(problem.getDurations(changed)));
    return refusal;
  }

private:
  /// Another choice for one of the chunks of the stage.
  struct Change {
    int64_t saved = 0, peak = 0;
    size_t position = 0;
    const ChunkChoice *choice = nullptr;
  };
  std::optional<Change> findLeastChange(int64_t stage) {
    std::optional<Change> least;
    llvm::ArrayRef<int32_t> chunks = problem.getChunks(stage);
    for (auto [position, chunk] : llvm::enumerate(chunks))
      for (const ChunkChoice &choice :
           choices.get(chunk, getLayers(plan.chunks[chunk]))) {
        Change change{getTime(costs[chunk]) - getTime(choice.costs), 0,
                      position, &choice};
        if (change.saved <= 0 || isForbidden(stage, getChunks(stage, change)))
          continue;
        std::vector<TickCosts> ofStage;
        for (int32_t other : chunks)
          ofStage.push_back(other == chunk ? choice.costs : costs[other]);
        change.peak = problem.getPeak(stage, ofStage);
        if (!least || std::pair(change.saved, change.peak) <
                          std::pair(least->saved, least->peak))
          least = change;
      }
    return least;
  }

  bool isForbidden(int64_t stage, llvm::ArrayRef<ChunkPlan> chunks) const {
    return llvm::any_of(problem.get().forbidden, [&](const auto &forbidden) {
      return forbidden.stage == stage &&
             chunks == llvm::ArrayRef<ChunkPlan>(forbidden.chunks);
    });
  }

  std::vector<ChunkPlan> getChunks(int64_t stage, const Change &change) const {
    std::vector<ChunkPlan> chunks;
    for (int32_t chunk : problem.getChunks(stage))
      chunks.push_back(plan.chunks[chunk]);
    chunks[change.position] = change.choice->plan;
    return chunks;
  }

  TickProblem problem;
  const Plan &plan;
  StepGraph graph;
  ChunkChoices choices;
  std::vector<TickCosts> costs;
};

} // namespace

/// Returns the treatment of the layer that others follow.
static std::optional<size_t> findFollowed(const Problem &problem,
                                          const Plan &plan) {
  if (problem.numFollowers > 0)
    for (const ChunkPlan &chunk : plan.chunks)
      for (auto [treatment, count] :
           llvm::enumerate(chunk.counts[problem.getNumLeaders() - 1]))
        if (count > 0)
          return treatment;
  return std::nullopt;
}

std::vector<Refusal> explain(const Problem &given, const Plan &plan) {
  // One change cannot treat a layer and its followers in other chunks.
  Problem problem = given;
  problem.followed = findFollowed(problem, plan);
  Explainer explainer(problem, plan);
  std::vector<Refusal> refusals;
  for (int64_t stage = 0; stage < problem.schedule.pipeline.stages; ++stage)
    if (std::optional<Refusal> refusal = explainer.explain(stage))
      refusals.push_back(std::move(*refusal));
  return refusals;
}

} // namespace mf::solver
