//===- StepOrder.cpp - The tasks of a step in one order -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Pipeline/StepOrder.h"
#include "mf/Pipeline/TaskGraph.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::schedule {

int32_t StepOrder::add(const Node &node) {
  nodes.push_back(node);
  return static_cast<int32_t>(nodes.size()) - 1;
}

/// Adds the tasks of a slot, of which the forward is the first, and returns the
/// node with which they end.
int32_t StepOrder::addSlot(int32_t stage, llvm::ArrayRef<int32_t> works,
                           llvm::ArrayRef<int32_t> inputs) {
  const int32_t nothing = 2 * numWorks;
  int32_t start = lastNodes[stage];
  for (const int32_t input : inputs)
    start = add({start, input, nothing, stage});
  auto addChain = [&](bool hidesForward) {
    int32_t end = start;
    for (const int32_t &work : works) {
      const bool isHidden = (&work == works.begin()) == hidesForward;
      end = add({end, -1, work + (isHidden ? numWorks : 0), stage});
    }
    return end;
  };
  const int32_t one = addChain(true), other = addChain(false);
  return add({one, other, nothing, stage, /*isJoin=*/true});
}

StepOrder::StepOrder(const Schedule &schedule)
    : lastNodes(schedule.stages.size(), -1), slots(!schedule.pairs.empty()) {
  const Pipeline &pipeline = schedule.pipeline;
  const TaskGraph graph(pipeline, schedule.splitsBackward);
  const llvm::ArrayRef<Phase> phases = graph.getPhases();
  const auto numPhases = static_cast<int32_t>(phases.size());
  numWorks = static_cast<int32_t>(pipeline.getNumChunks()) * numPhases;
  std::vector<int32_t> nodeOfTask(graph.getNumTasks(), -1);
  nodes.reserve(nodeOfTask.size());
  // The order is round robin over stages, so that neighbouring nodes do not
  // wait for one another and the processor can overlap them.
  std::vector<size_t> next(schedule.stages.size(), 0);
  for (bool goesOn = true; goesOn;) {
    goesOn = false;
    for (size_t number = 0; number < next.size(); ++number) {
      const std::vector<Task> &all = schedule.stages[number];
      if (next[number] == all.size())
        continue;
      const auto stage = static_cast<int32_t>(number);
      const auto begin = static_cast<int64_t>(next[number]);
      const auto tasks = llvm::ArrayRef(all).slice(
          begin, schedule.getSlotEnd(stage, begin) - begin);
      llvm::SmallVector<int32_t, 3> works, inputs;
      for (const Task &task : tasks) {
        const auto phase = llvm::find(phases, task.phase) - phases.begin();
        works.push_back(task.chunk * numPhases + static_cast<int32_t>(phase));
        if (std::optional<Task> input = getProducer(pipeline, task))
          inputs.push_back(nodeOfTask[graph.getNumber(*input)]);
      }
      if (llvm::is_contained(inputs, -1))
        continue;
      lastNodes[stage] =
          tasks.size() > 1
              ? addSlot(stage, works, inputs)
              : add({lastNodes[stage], inputs.empty() ? -1 : inputs.front(),
                     works.front(), stage});
      for (const Task &task : tasks)
        nodeOfTask[graph.getNumber(task)] = lastNodes[stage];
      next[number] += tasks.size();
      goesOn = true;
    }
  }
}

std::vector<int32_t> StepOrder::findPath(int32_t last,
                                         llvm::ArrayRef<int64_t> durations,
                                         llvm::ArrayRef<int64_t> ends) const {
  std::vector<int32_t> path;
  for (int32_t index = last; index >= 0;) {
    path.push_back(index);
    const Node &node = nodes[index];
    const int64_t start = ends[index] - durations[node.work];
    index = node.previous >= 0 && ends[node.previous] == start ? node.previous
                                                               : node.input;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

} // namespace mf::schedule
