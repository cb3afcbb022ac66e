//===- Makespan.cpp - Evaluates a plan ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StepGraph.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::solver {

using schedule::Phase;

namespace {

/// Returns the longest path. Consecutive tasks on a stage are merged by chunk
/// and phase.
std::vector<PhaseSegment> summarize(const TickProblem &problem,
                                    llvm::ArrayRef<StepGraph::PathTask> path,
                                    llvm::ArrayRef<int64_t> durations) {
  std::vector<PhaseSegment> segments;
  int64_t stage = -1;
  size_t begin = 0;
  for (const StepGraph::PathTask &task : path) {
    if (task.stage != stage)
      begin = segments.size();
    stage = task.stage;
    bool isUpdate = task.duration == problem.getUpdate(stage);
    PhaseSegment segment;
    segment.chunk = -1;
    if (!isUpdate) {
      segment.chunk =
          static_cast<int32_t>(task.duration / problem.getNumPhases());
      segment.phase =
          problem.getPhases()[task.duration % problem.getNumPhases()];
    }
    // Updates and recompute tasks without work are left out.
    if ((isUpdate || segment.phase == Phase::Recompute) &&
        durations[task.duration] == 0)
      continue;
    auto isSame = [&](const PhaseSegment &other) {
      return other.chunk == segment.chunk && other.phase == segment.phase;
    };
    auto known = std::find_if(segments.begin() + static_cast<ptrdiff_t>(begin),
                              segments.end(), isSame);
    if (known == segments.end())
      known = segments.insert(known, segment);
    ++known->count;
    known->time += task.share * problem.getTime(durations[task.duration]);
  }
  return segments;
}

std::vector<TickCosts> getCosts(const TickProblem &ticks, const Plan &plan) {
  std::vector<TickCosts> costs;
  for (auto [chunk, ofChunk] : llvm::enumerate(plan.chunks))
    costs.push_back(ticks.getCosts(static_cast<int64_t>(chunk), ofChunk));
  return costs;
}

/// Returns the peak of each stage.
std::vector<double> getPeaks(const TickProblem &ticks,
                             llvm::ArrayRef<TickCosts> costs) {
  std::vector<double> peaks;
  for (int64_t stage = 0; stage < ticks.getNumStages(); ++stage) {
    std::vector<TickCosts> ofStage;
    for (int32_t chunk : ticks.getChunks(stage))
      ofStage.push_back(costs[chunk]);
    peaks.push_back(ticks.getMemory(ticks.getPeak(stage, ofStage)));
  }
  return peaks;
}

/// Returns the time of a stage's tasks, without the part that tasks of one slot
/// hide of each other.
int64_t getBusy(const TickProblem &problem, int64_t stage,
                llvm::ArrayRef<int64_t> durations) {
  const schedule::Schedule &schedule = problem.get().schedule;
  const std::vector<schedule::Task> &tasks = schedule.stages[stage];
  auto getTime = [&](int64_t position) {
    const schedule::Task &task = tasks[position];
    const auto number = llvm::find(problem.getPhases(), task.phase) -
                        problem.getPhases().begin();
    return durations[problem.getDuration(task.chunk, number)];
  };
  const auto numTasks = static_cast<int64_t>(tasks.size());
  int64_t busy = 0;
  for (int64_t begin = 0; begin < numTasks;) {
    const int64_t end = schedule.getSlotEnd(stage, begin);
    int64_t rest = 0;
    for (int64_t position = begin + 1; position < end; ++position)
      rest += getTime(position);
    busy += getTime(begin) + rest -
            std::min(getTime(begin), rest) *
                (TickProblem::slotParts - problem.getShown()) /
                TickProblem::slotParts;
    begin = end;
  }
  return busy;
}

} // namespace

std::vector<double> evaluatePeaks(const Problem &problem, const Plan &plan) {
  TickProblem ticks(problem);
  return getPeaks(ticks, getCosts(ticks, plan));
}

Evaluation evaluate(const Problem &problem, const Plan &plan) {
  TickProblem ticks(problem);
  StepGraph graph(ticks);
  std::vector<TickCosts> costs = getCosts(ticks, plan);
  std::vector<int64_t> durations = ticks.getDurations(costs);

  Evaluation evaluation;
  evaluation.time = ticks.getTime(graph.getMakespan(durations));
  const int64_t pieces = problem.schedule.pipeline.pieces;
  for (const TickCosts &ofChunk : costs) {
    evaluation.forward.push_back(ticks.getTime(pieces * ofChunk.times[0]));
    evaluation.backward.push_back(
        ticks.getTime(pieces * ofChunk.getBackward()));
  }
  evaluation.peaks = getPeaks(ticks, costs);
  for (int64_t stage = 0; stage < ticks.getNumStages(); ++stage) {
    const int64_t busy =
        durations[ticks.getUpdate(stage)] + getBusy(ticks, stage, durations);
    evaluation.busy.push_back(ticks.getTime(busy));
  }
  evaluation.criticalPath =
      summarize(ticks, graph.getCriticalPath(durations), durations);
  return evaluation;
}

} // namespace mf::solver
