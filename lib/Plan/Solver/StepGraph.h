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

namespace mf::solver {

/// The number of times that each duration occurs on a path through the step (or
/// on several weighted paths). No plan takes less time than the sum.
struct PathCut {
  std::vector<double> counts;
  /// The time of the transfers on the path.
  double transfers = 0;
};

class StepGraph {
public:
  explicit StepGraph(const TickProblem &problem);

  /// Returns the end of the last stage, including its update.
  int64_t getMakespan(llvm::ArrayRef<int64_t> durations);

  /// A task of a longest path: its stage, its duration, and the share of the
  /// duration that lies on the path, which is less than 1 if a task in the same
  /// slot hides the rest.
  struct PathTask {
    int64_t stage = 0, duration = 0;
    double share = 1;
  };
  std::vector<PathTask> getCriticalPath(llvm::ArrayRef<int64_t> durations);

  /// Returns a longest path as a cut.
  PathCut getCriticalCut(llvm::ArrayRef<int64_t> durations);

  /// Returns a weighted sum of all paths. The weight of a path decreases
  /// exponentially with its difference from the longest one: to 1/e if the
  /// difference is `softness`.
  PathCut getSoftCut(llvm::ArrayRef<double> durations, double softness);
  /// Returns the soft maximum of the times of all paths, of which getSoftCut()
  /// is the gradient.
  double getSoftMakespan(llvm::ArrayRef<double> durations, double softness);

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
  std::optional<PathTask> getTask(const schedule::StepOrder::Node &node) const;
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
