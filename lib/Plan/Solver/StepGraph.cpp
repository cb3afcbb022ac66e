//===- StepGraph.cpp - The tasks of a step, and how long they take --------===//

#include "StepGraph.h"
#include "mf/Pipeline/TaskGraph.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>

namespace mf::plan {

using schedule::Task;

StepGraph::StepGraph(const TickProblem &problem)
    : problem(problem), lastNodes(problem.getNumStages(), -1) {
  const schedule::Schedule &schedule = problem.get().schedule;
  const schedule::TaskGraph graph(schedule.pipeline, schedule.splitsBackward);
  std::vector<int32_t> nodeOfTask(graph.getNumTasks(), -1);
  // Round robin: neighbours in the order do not wait for one another, which
  // lets the processor overlap them.
  std::vector<size_t> next(problem.getNumStages(), 0);
  for (bool goesOn = true; goesOn;) {
    goesOn = false;
    for (int64_t stage = 0; stage < problem.getNumStages(); ++stage) {
      if (next[stage] == schedule.stages[stage].size())
        continue;
      const Task &task = schedule.stages[stage][next[stage]];
      Node node{lastNodes[stage], -1, 0, static_cast<int32_t>(stage)};
      if (std::optional<Task> input = getProducer(schedule.pipeline, task)) {
        node.input = nodeOfTask[graph.getNumber(*input)];
        if (node.input < 0)
          continue;
      }
      node.duration = problem.getDuration(
          task.chunk, llvm::find(graph.getPhases(), task.phase) -
                          graph.getPhases().begin());
      lastNodes[stage] = nodeOfTask[graph.getNumber(task)] = nodes.size();
      nodes.push_back(node);
      ++next[stage];
      goesOn = true;
    }
  }
  ends.resize(nodes.size());
}

int64_t StepGraph::run(llvm::ArrayRef<int64_t> durations) {
  const int64_t transfer = problem.getTransfer();
  for (size_t index = 0; index < nodes.size(); ++index) {
    const Node &node = nodes[index];
    int64_t start = node.previous >= 0 ? ends[node.previous] : 0;
    if (node.input >= 0)
      start = std::max(start, ends[node.input] + transfer);
    ends[index] = start + durations[node.duration];
  }
  int64_t end = 0;
  for (auto [stage, last] : llvm::enumerate(lastNodes))
    end = std::max(end, ends[last] + durations[problem.getUpdate(stage)]);
  return end;
}

int64_t StepGraph::getMakespan(llvm::ArrayRef<int64_t> durations) {
  return run(durations);
}

std::vector<StepGraph::PathTask>
StepGraph::getCriticalPath(llvm::ArrayRef<int64_t> durations) {
  int64_t end = run(durations);
  std::vector<PathTask> path;
  int32_t index = -1;
  for (auto [stage, last] : llvm::enumerate(lastNodes)) {
    int64_t update = problem.getUpdate(stage);
    if (ends[last] + durations[update] != end)
      continue;
    index = last;
    path.push_back({static_cast<int64_t>(stage), update});
    break;
  }
  while (index >= 0) {
    const Node &node = nodes[index];
    path.push_back({node.stage, node.duration});
    int64_t start = ends[index] - durations[node.duration];
    index = node.previous >= 0 && ends[node.previous] == start ? node.previous
                                                               : node.input;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

PathCut StepGraph::getCriticalCut(llvm::ArrayRef<int64_t> durations) {
  PathCut cut{std::vector<double>(durations.size(), 0)};
  std::vector<PathTask> path = getCriticalPath(durations);
  for (auto [index, task] : llvm::enumerate(path)) {
    cut.counts[task.duration] += 1;
    if (index > 0 && path[index - 1].stage != task.stage)
      cut.transfers += static_cast<double>(problem.getTransfer());
  }
  return cut;
}

double StepGraph::getSoftMakespan(llvm::ArrayRef<double> durations,
                                  double softness) {
  // A way that ends earlier by more than that many times the softness has no
  // share.
  constexpr double cutoff = 36;
  softEnds.resize(nodes.size());
  shares.resize(nodes.size());
  const auto transfer = static_cast<double>(problem.getTransfer());
  auto merge = [&](double one, double other, double &share) {
    double lead = (one - other) / softness;
    if (lead > cutoff || lead < -cutoff) {
      share = lead > 0 ? 1 : 0;
      return std::max(one, other);
    }
    double ratio = std::exp(-std::abs(lead));
    share = lead > 0 ? 1 / (1 + ratio) : ratio / (1 + ratio);
    return std::max(one, other) + softness * std::log1p(ratio);
  };
  for (size_t index = 0; index < nodes.size(); ++index) {
    const Node &node = nodes[index];
    double start = 0;
    shares[index] = 1;
    if (node.previous < 0)
      start = node.input >= 0 ? softEnds[node.input] + transfer : 0;
    else if (node.input < 0)
      start = softEnds[node.previous];
    else
      start = merge(softEnds[node.previous], softEnds[node.input] + transfer,
                    shares[index]);
    softEnds[index] = start + durations[node.duration];
  }
  double longest = 0, total = 0;
  for (size_t stage = 0; stage < lastNodes.size(); ++stage)
    longest = std::max(longest, getSoftEnd(stage, durations));
  for (size_t stage = 0; stage < lastNodes.size(); ++stage)
    total += std::exp((getSoftEnd(stage, durations) - longest) / softness);
  return longest + softness * std::log(total);
}

PathCut StepGraph::getSoftCut(llvm::ArrayRef<double> durations,
                              double softness) {
  double longest = getSoftMakespan(durations, softness);
  // Backwards: the share of all paths that goes through a task.
  PathCut cut{std::vector<double>(durations.size(), 0)};
  flow.assign(nodes.size(), 0);
  for (size_t stage = 0; stage < lastNodes.size(); ++stage) {
    double share =
        std::exp((getSoftEnd(stage, durations) - longest) / softness);
    flow[lastNodes[stage]] += share;
    cut.counts[problem.getUpdate(stage)] += share;
  }
  const auto transfer = static_cast<double>(problem.getTransfer());
  for (size_t index = nodes.size(); index-- > 0;) {
    if (flow[index] == 0)
      continue;
    const Node &node = nodes[index];
    cut.counts[node.duration] += flow[index];
    if (node.previous >= 0)
      flow[node.previous] += flow[index] * shares[index];
    if (node.input < 0)
      continue;
    double share = node.previous >= 0 ? 1 - shares[index] : 1;
    flow[node.input] += flow[index] * share;
    cut.transfers += flow[index] * share * transfer;
  }
  return cut;
}

} // namespace mf::plan
