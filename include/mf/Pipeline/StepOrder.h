//===- StepOrder.h - The tasks of a step in one order -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The tasks of a schedule in an order in which each task follows the tasks that
// it waits for. It is meant for evaluating one schedule with many sets of
// durations: a single pass over this order finds when all tasks end.
//
// A slot takes the sum of the times of its tasks, less the hidden time, which
// is a share of the shorter of the forward and the gradients. This is the
// maximum of two sums: the whole time of the one plus the time of the other
// that is not hidden, and the reverse. Therefore a slot has two chains of
// nodes. Both begin when all tasks of the slot can start, and a last node waits
// for both.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PIPELINE_STEPORDER_H
#define MF_PIPELINE_STEPORDER_H

#include "mf/Pipeline/Schedule.h"
#include <algorithm>

namespace mf::schedule {

/// The nodes of a schedule in order.
class StepOrder {
public:
  /// A node of the order: a task, or a part of a slot. The nodes that it waits
  /// for have lower indices.
  struct Node {
    /// The nodes that it waits for: the previous one on the stage and one on
    /// another stage; -1 if there is none.
    int32_t previous = -1, input = -1;
    /// The index of its duration, and its stage. Durations are those of each
    /// phase of each chunk. If there are slots, they are followed by the time
    /// that is not hidden of each phase of each chunk, and by a 0.
    int32_t work = 0, stage = 0;
    /// True if the input is on the same stage, so that there is no message.
    bool isJoin = false;
  };

  /// Makes the order of a schedule, which must verify.
  explicit StepOrder(const Schedule &schedule);

  /// Returns all nodes. The nodes of one stage are in the order of its tasks.
  llvm::ArrayRef<Node> getNodes() const { return nodes; }
  /// Returns whether tasks share slots.
  bool hasSlots() const { return slots; }
  /// Returns the number of durations of phases of chunks.
  int32_t getNumWorks() const { return numWorks; }
  /// Returns the last node of each stage.
  llvm::ArrayRef<int32_t> getLastNodes() const { return lastNodes; }

  /// Computes the end times of all nodes. `durations` are indexed by
  /// Node::work, and `transfer` is the time of a message between stages. A node
  /// that waits for two others starts at later(node, end of the previous node,
  /// arrival of the input).
  template <typename Time, typename Later>
  void findEnds(llvm::ArrayRef<Time> durations, Time transfer, Later later,
                std::vector<Time> &ends) const {
    ends.resize(nodes.size());
    for (size_t index = 0; index < nodes.size(); ++index) {
      const Node &node = nodes[index];
      Time start = 0;
      const Time message = node.isJoin ? Time(0) : transfer;
      if (node.previous < 0)
        start = node.input >= 0 ? ends[node.input] + message : 0;
      else if (node.input < 0)
        start = ends[node.previous];
      else
        start = later(index, ends[node.previous], ends[node.input] + message);
      ends[index] = start + durations[node.work];
    }
  }

  /// Computes the end times of nodes that start as soon as they can.
  template <typename Time>
  void findEnds(llvm::ArrayRef<Time> durations, Time transfer,
                std::vector<Time> &ends) const {
    findEnds(
        durations, transfer,
        [](size_t, Time one, Time other) { return std::max(one, other); },
        ends);
  }

  /// Returns a chain of nodes from the start of the step to `last` in which
  /// each node starts when the one before it ends. If both the previous node of
  /// the stage and an input qualify, the previous node is chosen.
  std::vector<int32_t> findPath(int32_t last, llvm::ArrayRef<int64_t> durations,
                                llvm::ArrayRef<int64_t> ends) const;

private:
  int32_t add(const Node &node);
  int32_t addSlot(int32_t stage, llvm::ArrayRef<int32_t> works,
                  llvm::ArrayRef<int32_t> inputs);

  std::vector<Node> nodes;
  std::vector<int32_t> lastNodes;
  bool slots = false;
  int32_t numWorks = 0;
};

} // namespace mf::schedule

#endif // MF_PIPELINE_STEPORDER_H
