//===- Incumbent.cpp - The best plan so far -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Incumbent.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>

namespace mf::solver {

std::vector<int64_t> getDurations(llvm::ArrayRef<StageOptions> stages,
                                  const OptionList &options,
                                  const TickProblem &problem) {
  std::vector<int64_t> durations(problem.getNumDurations(), 0);
  for (auto [stage, option] : llvm::zip_equal(stages, options))
    for (auto [number, duration] :
         llvm::zip_equal(stage.durationNumbers, stage.getDurations(option)))
      durations[number] = static_cast<int64_t>(duration);
  return durations;
}

Plan getPlan(llvm::ArrayRef<StageOptions> stages, const OptionList &options,
             const TickProblem &problem) {
  Plan plan;
  plan.chunks.resize(problem.getNumChunks());
  for (auto [stage, option] : llvm::zip_equal(stages, options))
    for (auto [chunk, choice] : llvm::zip_equal(problem.getChunks(stage.stage),
                                                stage.getChoices(option)))
      plan.chunks[chunk] = choice->plan;
  return plan;
}

Incumbent::Incumbent(const TickProblem &problem, StepGraph &graph,
                     const SolveOptions &options)
    : problem(problem), graph(graph), options(options), ticks(unlimited) {
  if (options.cutoff > 0) {
    ticks = problem.getTicksBelow(options.cutoff);
    if (problem.getTime(ticks) < options.cutoff)
      ++ticks;
  }
}

int64_t Incumbent::offer(llvm::ArrayRef<StageOptions> stages,
                         const OptionList &list) {
  int64_t time = graph.getMakespan(getDurations(stages, list, problem));
  if (time < ticks) {
    ticks = time;
    plan = mf::solver::getPlan(stages, list, problem);
  }
  return time;
}

void Incumbent::offer(const Plan &offered) {
  std::vector<TickCosts> costs;
  for (auto [chunk, ofChunk] : llvm::enumerate(offered.chunks))
    costs.push_back(problem.getCosts(static_cast<int64_t>(chunk), ofChunk));
  int64_t time = graph.getMakespan(problem.getDurations(costs));
  if (time >= ticks)
    return;
  ticks = time;
  plan = offered;
}

bool Incumbent::isOver() {
  // The first plan is worth more work than a better one.
  constexpr int64_t withoutPlan = 100;
  ++numCandidates;
  const bool isEnough =
      options.mostCandidates > 0 &&
      numCandidates / (plan ? 1 : withoutPlan) > options.mostCandidates;
  return isEnough || (options.stop != nullptr && options.stop->load());
}

bool Incumbent::isNear(double boundTicks) const {
  const auto best = static_cast<double>(ticks);
  return plan && best - boundTicks < options.gap * best;
}

void Incumbent::report(double boundTicks) {
  if (!options.progress)
    return;
  options.progress(
      {plan ? problem.getTime(ticks) : std::numeric_limits<double>::infinity(),
       problem.getTime(static_cast<int64_t>(boundTicks))});
}

} // namespace mf::solver
