//===- StepGraph.cpp - Durations of a step's tasks ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StepGraph.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>

namespace mf::solver {

using schedule::StepOrder;

StepGraph::StepGraph(const TickProblem &problem)
    : problem(problem), order(problem.get().schedule) {}

int64_t StepGraph::getMakespan(llvm::ArrayRef<int64_t> durations) {
  order.findEnds<int64_t>(expand(durations, allTicks), problem.getTransfer(),
                          ends);
  int64_t end = 0;
  for (auto [stage, last] : llvm::enumerate(order.getLastNodes()))
    end = std::max(
        end,
        ends[last] + durations[problem.getUpdate(static_cast<int64_t>(stage))]);
  return end;
}

std::optional<StepGraph::PathTask>
StepGraph::getTask(const StepOrder::Node &node) const {
  const int32_t numWorks = order.getNumWorks();
  if (node.work < numWorks)
    return PathTask{node.stage, node.work};
  if (node.work == 2 * numWorks)
    return std::nullopt;
  return PathTask{node.stage, node.work - numWorks,
                  static_cast<double>(problem.getShown()) /
                      TickProblem::slotParts};
}

std::vector<StepGraph::PathTask>
StepGraph::getCriticalPath(llvm::ArrayRef<int64_t> durations) {
  const int64_t end = getMakespan(durations);
  const auto *last = llvm::find_if(order.getLastNodes(), [&](int32_t node) {
    return ends[node] + durations[getUpdate(node)] == end;
  });
  std::vector<PathTask> path;
  const llvm::ArrayRef<int64_t> all =
      order.hasSlots() ? llvm::ArrayRef<int64_t>(allTicks) : durations;
  for (int32_t index : order.findPath(*last, all, ends))
    if (std::optional<PathTask> task = getTask(order.getNodes()[index]))
      path.push_back(*task);
  path.push_back({path.back().stage, getUpdate(*last)});
  return path;
}

PathCut StepGraph::getCriticalCut(llvm::ArrayRef<int64_t> durations) {
  PathCut cut{std::vector<double>(durations.size(), 0)};
  std::vector<PathTask> path = getCriticalPath(durations);
  for (auto [index, task] : llvm::enumerate(path)) {
    cut.counts[task.duration] += task.share;
    if (index > 0 && path[index - 1].stage != task.stage)
      cut.transfers += static_cast<double>(problem.getTransfer());
  }
  return cut;
}

double StepGraph::getSoftMakespan(llvm::ArrayRef<double> durations,
                                  double softness) {
  // A path that is shorter by more than this many times the softness has no
  // share.
  constexpr double cutoff = 36;
  shares.assign(order.getNodes().size(), 1);
  auto merge = [&](size_t node, double one, double other) {
    double &share = shares[node];
    double lead = (one - other) / softness;
    if (lead > cutoff || lead < -cutoff) {
      share = lead > 0 ? 1 : 0;
      return std::max(one, other);
    }
    double ratio = std::exp(-std::abs(lead));
    share = lead > 0 ? 1 / (1 + ratio) : ratio / (1 + ratio);
    return std::max(one, other) + softness * std::log1p(ratio);
  };
  order.findEnds<double>(expand(durations, allSoft),
                         static_cast<double>(problem.getTransfer()), merge,
                         softEnds);
  double longest = 0, total = 0;
  for (int64_t stage = 0; stage < problem.getNumStages(); ++stage)
    longest = std::max(longest, getSoftEnd(stage, durations));
  for (int64_t stage = 0; stage < problem.getNumStages(); ++stage)
    total += std::exp((getSoftEnd(stage, durations) - longest) / softness);
  return longest + softness * std::log(total);
}

PathCut StepGraph::getSoftCut(llvm::ArrayRef<double> durations,
                              double softness) {
  double longest = getSoftMakespan(durations, softness);
  // The loop goes backwards and computes the fraction of all paths that passes
  // through each task.
  PathCut cut{std::vector<double>(durations.size(), 0)};
  const llvm::ArrayRef<StepOrder::Node> nodes = order.getNodes();
  flow.assign(nodes.size(), 0);
  for (int64_t stage = 0; stage < problem.getNumStages(); ++stage) {
    double share =
        std::exp((getSoftEnd(stage, durations) - longest) / softness);
    flow[order.getLastNodes()[stage]] += share;
    cut.counts[problem.getUpdate(stage)] += share;
  }
  const auto transfer = static_cast<double>(problem.getTransfer());
  for (size_t index = nodes.size(); index-- > 0;) {
    if (flow[index] == 0)
      continue;
    const StepOrder::Node &node = nodes[index];
    if (std::optional<PathTask> task = getTask(node))
      cut.counts[task->duration] += flow[index] * task->share;
    if (node.previous >= 0)
      flow[node.previous] += flow[index] * shares[index];
    if (node.input < 0)
      continue;
    double share = node.previous >= 0 ? 1 - shares[index] : 1;
    flow[node.input] += flow[index] * share;
    if (!node.isJoin)
      cut.transfers += flow[index] * share * transfer;
  }
  return cut;
}

} // namespace mf::solver
