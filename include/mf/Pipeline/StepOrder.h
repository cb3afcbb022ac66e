//===- StepOrder.h - The tasks of a step in one order -----------*- C++ -*-===//
//
// The tasks of a schedule behind all that they wait for, for those who evaluate
// one schedule with many durations: a pass over this order says when tasks end.
//
//===----------------------------------------------------------------------===//

#ifndef MF_SCHEDULE_STEPORDER_H
#define MF_SCHEDULE_STEPORDER_H

#include "mf/Pipeline/Schedule.h"
#include <algorithm>

namespace mf::schedule {

class StepOrder {
public:
  /// A task of the order; tasks that it waits for come before it.
  struct Node {
    /// The one before on the stage and the one on another stage that it waits
    /// for; -1 if none.
    int32_t previous = -1, input = -1;
    /// The number of what the task computes: phase by phase for each chunk.
    int32_t work = 0, stage = 0;
  };

  /// The schedule must verify.
  explicit StepOrder(const Schedule &schedule);

  /// The nodes of a stage are in the order of its tasks.
  llvm::ArrayRef<Node> getNodes() const { return nodes; }
  /// The last node of each stage.
  llvm::ArrayRef<int32_t> getLastNodes() const { return lastNodes; }

  /// Finds when nodes end. Durations are those of works, and `transfer` is the
  /// time between stages. A node that waits for two starts at what `later` says
  /// of the node's number, the end of the one before and the arrival of the
  /// other.
  template <typename Time, typename Later>
  void findEnds(llvm::ArrayRef<Time> durations, Time transfer, Later later,
                std::vector<Time> &ends) const {
    ends.resize(nodes.size());
    for (size_t index = 0; index < nodes.size(); ++index) {
      const Node &node = nodes[index];
      Time start = 0;
      if (node.previous < 0)
        start = node.input >= 0 ? ends[node.input] + transfer : 0;
      else if (node.input < 0)
        start = ends[node.previous];
      else
        start = later(index, ends[node.previous], ends[node.input] + transfer);
      ends[index] = start + durations[node.work];
    }
  }

  /// Finds when nodes end that start as soon as they can.
  template <typename Time>
  void findEnds(llvm::ArrayRef<Time> durations, Time transfer,
                std::vector<Time> &ends) const {
    findEnds(
        durations, transfer,
        [](size_t, Time one, Time other) { return std::max(one, other); },
        ends);
  }

  /// Nodes that each wait for the one before, without a gap, from the start of
  /// the step to `last`. The one on the stage is taken where both would do.
  std::vector<int32_t> findPath(int32_t last, llvm::ArrayRef<int64_t> durations,
                                llvm::ArrayRef<int64_t> ends) const;

private:
  std::vector<Node> nodes;
  std::vector<int32_t> lastNodes;
};

} // namespace mf::schedule

#endif // MF_SCHEDULE_STEPORDER_H
