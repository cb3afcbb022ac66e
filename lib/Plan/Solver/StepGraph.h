//===- StepGraph.h - The tasks of a step, and how long they take -*- C++
//-*-===//
//
// The tasks of a schedule in one topological order. With a duration for every
// phase of every chunk it says when the step ends, and why.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PLAN_STEPGRAPH_H
#define MF_LIB_PLAN_STEPGRAPH_H

#include "Ticks.h"

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
  struct Node {
    /// The one before on the stage and the one on another stage that it waits
    /// for; -1 if none.
    int32_t previous = -1, input = -1;
    int32_t duration = 0, stage = 0;
  };
  int64_t run(llvm::ArrayRef<int64_t> durations);
  double getSoftEnd(size_t stage, llvm::ArrayRef<double> durations) const {
    return softEnds[lastNodes[stage]] + durations[problem.getUpdate(stage)];
  }

  const TickProblem &problem;
  std::vector<Node> nodes;
  /// By stage.
  std::vector<int32_t> lastNodes;
  std::vector<int64_t> ends;
  /// For the soft maximum: when tasks end, the share of the way along the stage
  /// among both ways to a task, and that of all paths that goes through it.
  std::vector<double> softEnds, shares, flow;
};

} // namespace mf::plan

#endif // MF_LIB_PLAN_STEPGRAPH_H
