//===- StepGraph.h - Durations of a step's tasks ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Given a duration for every phase of every chunk and for every update,
// computes when the step ends, and its longest path.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PLAN_SOLVER_STEPGRAPH_H
#define MF_LIB_PLAN_SOLVER_STEPGRAPH_H

#include "Ticks.h"
#include "mf/Pipeline/StepOrder.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>

namespace mf::solver {

/// The number of times that each duration occurs on a path through the step (or
/// on several weighted paths). No plan takes less time than the sum.
struct PathCut {
  std::vector<double> counts;
  /// The time of the transfers on the path.
  double transfers = 0;
};

using schedule::StepOrder;

class StepGraph {
public:
  explicit StepGraph(const TickProblem &problem)
      : problem(problem), order(problem.get().schedule) {}

  /// Returns the end of the last stage, including its update.
  int64_t getMakespan(llvm::ArrayRef<int64_t> durations) {
    order.findEnds<int64_t>(expand(durations, allTicks), problem.getTransfer(),
                            ends);
    int64_t end = 0;
    for (auto [stage, last] : llvm::enumerate(order.getLastNodes()))
      end = std::max(
          end, ends[last] +
                   durations[problem.getUpdate(static_cast<int64_t>(stage))]);
    return end;
  }

  /// A task of a longest path: its stage, its duration, and the share of the
  /// duration that lies on the path, which is less than 1 if a task in the same
  /// slot hides the rest.
  struct PathTask {
    int64_t stage = 0, duration = 0;
    double share = 1;
  };
  std::vector<PathTask> getCriticalPath(llvm::ArrayRef<int64_t> durations) {
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

  /// Returns a longest path as a cut.
  PathCut getCriticalCut(llvm::ArrayRef<int64_t> durations) {
    PathCut cut{std::vector<double>(durations.size(), 0)};
    std::vector<PathTask> path = getCriticalPath(durations);
    for (auto [index, task] : llvm::enumerate(path)) {
      cut.counts[task.duration] += task.share;
      if (index > 0 && path[index - 1].stage != task.stage)
        cut.transfers += static_cast<double>(problem.getTransfer());
    }
    return cut;
  }

  /// Returns a weighted sum of all paths. The weight of a path decreases
  /// exponentially with its difference from the longest one: to 1/e if the
  /// difference is `softness`.
  PathCut getSoftCut(llvm::ArrayRef<double> durations, double softness) {
    double longest = getSoftMakespan(durations, softness);
    // The loop goes backwards and computes the fraction of all paths that
    // passes through each task.
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

  /// Returns the soft maximum of the times of all paths, of which getSoftCut()
  /// is the gradient.
  double getSoftMakespan(llvm::ArrayRef<double> durations, double softness) {
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

private:
  /// Returns the durations of nodes. They are stored in `all` if they differ
  /// from those of phases.
  template <typename Time>
  llvm::ArrayRef<Time> expand(llvm::ArrayRef<Time> durations,
                              std::vector<Time> &all) const {
    if (!order.hasSlots())
      return durations;
    const size_t numWorks = order.getNumWorks();
    all.assign(durations.begin(), durations.begin() + numWorks);
    for (size_t work = 0; work < numWorks; ++work)
      all.push_back(all[work] * static_cast<Time>(problem.getShown()) /
                    TickProblem::slotParts);
    all.push_back(0);
    return all;
  }
  /// Returns the task of a node, or none for a node that takes no time.
  std::optional<PathTask> getTask(const StepOrder::Node &node) const {
    const int32_t numWorks = order.getNumWorks();
    if (node.work < numWorks)
      return PathTask{node.stage, node.work};
    if (node.work == 2 * numWorks)
      return std::nullopt;
    return PathTask{node.stage, node.work - numWorks,
                    static_cast<double>(problem.getShown()) /
                        TickProblem::slotParts};
  }

  /// Returns the duration of the update of a node's stage.
  int64_t getUpdate(int32_t node) const {
    return problem.getUpdate(order.getNodes()[node].stage);
  }
  double getSoftEnd(size_t stage, llvm::ArrayRef<double> durations) const {
    return softEnds[order.getLastNodes()[stage]] +
           durations[problem.getUpdate(static_cast<int64_t>(stage))];
  }

  const TickProblem &problem;
  schedule::StepOrder order;
  std::vector<int64_t> ends, allTicks;
  std::vector<double> allSoft;
  /// For the soft maximum: the ends of tasks, for each task the fraction of its
  /// paths that come along its stage, and the fraction of all paths that pass
  /// through it.
  std::vector<double> softEnds, shares, flow;
};

} // namespace mf::solver

#endif // MF_LIB_PLAN_SOLVER_STEPGRAPH_H
