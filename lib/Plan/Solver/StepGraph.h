//===- StepGraph.h - How long the tasks of a step take ----------*- C++ -*-===//
//
// With a duration for every phase of every chunk, and for every update, it says
// when the step ends, and why.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PLAN_STEPGRAPH_H
#define MF_LIB_PLAN_STEPGRAPH_H

#include "Ticks.h"
#include "mf/Pipeline/StepOrder.h"

namespace mf::plan {

/// How often each duration lies on a path through the step (or on several
/// paths, each with its share): no plan takes less than the sum.
struct PathCut {
  std::vector<double> counts;
  /// The time of the transfers on the path.
  double transfers = 0;
};

class StepGraph {
public:
  explicit StepGraph(const TickProblem &problem);

  /// When the last stage ends, its update included.
  int64_t getMakespan(llvm::ArrayRef<int64_t> durations);

  /// Stages and durations of a longest path, from its start; calls back once
  /// for each task and once for the update at the end.
  struct PathTask {
    int64_t stage = 0, duration = 0;
  };
  std::vector<PathTask> getCriticalPath(llvm::ArrayRef<int64_t> durations);

  /// A longest path as a cut.
  PathCut getCriticalCut(llvm::ArrayRef<int64_t> durations);

  /// A share of every path that falls exponentially with what it lacks to the
  /// longest one: to 1/e if it lacks as much as `softness`.
  PathCut getSoftCut(llvm::ArrayRef<double> durations, double softness);
  /// The soft maximum of the times of all paths, of which that is the slope.
  double getSoftMakespan(llvm::ArrayRef<double> durations, double softness);

private:
  /// The duration of the update of a node's stage.
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
  /// For the soft maximum: when tasks end, the share of the way along the stage
  /// among both ways to a task, and that of all paths that goes through it.
  std::vector<double> softEnds, shares, flow;
};

} // namespace mf::plan

#endif // MF_LIB_PLAN_STEPGRAPH_H
