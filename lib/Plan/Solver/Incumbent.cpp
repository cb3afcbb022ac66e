//===- Incumbent.cpp - The best plan so far -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Incumbent.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>

namespace mf::solver {

using Clock = std::chrono::steady_clock;

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
    : problem(problem), graph(graph), options(options), begin(Clock::now()),
      ticks(unlimited) {
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

double Incumbent::getSeconds() const {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

bool Incumbent::isOver() {
  ++numCandidates;
  const bool isEnough = plan && options.mostCandidates > 0 &&
                        numCandidates > options.mostCandidates;
  return isEnough || (options.stop != nullptr && options.stop->load()) ||
         getSeconds() >= options.timeLimit;
}

bool Incumbent::isNear(double boundTicks) const {
  const auto best = static_cast<double>(ticks);
  return plan && best - boundTicks < options.gap * best;
}

void Incumbent::report(double boundTicks) {
  constexpr double interval = 0.2;
  double seconds = getSeconds();
  if (!options.progress || seconds < lastReport + interval)
    return;
  lastReport = seconds;
  options.progress(
      {seconds,
       plan ? problem.getTime(ticks) : std::numeric_limits<double>::infinity(),
       problem.getTime(static_cast<int64_t>(boundTicks))});
}

} // namespace mf::solver
