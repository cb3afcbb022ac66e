//===- StepGraph.h - Durations of a step's tasks ----------------*- C++ -*-===//
//
// Given a duration for every phase of every chunk and for every update,
// computes when the step ends, and its longest path.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PLAN_STEPGRAPH_H
#define MF_LIB_PLAN_STEPGRAPH_H

#include "Ticks.h"
#include "mf/Pipeline/StepOrder.h"

namespace mf::plan {

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

  /// A task of a longest path: its stage and its duration.
  struct PathTask {
    int64_t stage = 0, duration = 0;
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
  /// Returns the duration of the update of a node's stage.
  int64_t getUpdate(int32_t node) const {
    return problem.getUpdate(order.getNodes()[node].stage);
  }
  double getSoftEnd(size_t stage, llvm::ArrayRef<double> durations) const {
    return softEnds[order.getLastNodes()[stage]] +
           durations[problem.getUpdate(stage)];
  }

  const TickProblem &problem;
  schedule::StepOrder order;
  std::vector<int64_t> ends;
  /// For the soft maximum: the ends of tasks, for each task the fraction of its
  /// paths that come along its stage, and the fraction of all paths that pass
  /// through it.
  std::vector<double> softEnds, shares, flow;
};

} // namespace mf::plan

#endif // MF_LIB_PLAN_STEPGRAPH_H
