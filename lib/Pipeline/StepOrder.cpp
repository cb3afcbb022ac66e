//===- StepOrder.cpp - The tasks of a step in one order -------------------===//

#include "mf/Pipeline/StepOrder.h"
#include "mf/Pipeline/TaskGraph.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::schedule {

StepOrder::StepOrder(const Schedule &schedule)
    : lastNodes(schedule.stages.size(), -1) {
  const Pipeline &pipeline = schedule.pipeline;
  const TaskGraph graph(pipeline, schedule.splitsBackward);
  const llvm::ArrayRef<Phase> phases = graph.getPhases();
  std::vector<int32_t> nodeOfTask(graph.getNumTasks(), -1);
  nodes.reserve(nodeOfTask.size());
  // The order is round robin over stages, so that neighbouring nodes do not
  // wait for one another and the processor can overlap them.
  std::vector<size_t> next(schedule.stages.size(), 0);
  for (bool goesOn = true; goesOn;) {
    goesOn = false;
    for (auto [stage, tasks] : llvm::enumerate(schedule.stages)) {
      if (next[stage] == tasks.size())
        continue;
      const Task &task = tasks[next[stage]];
      Node node{lastNodes[stage], -1, 0, static_cast<int32_t>(stage)};
      if (std::optional<Task> input = getProducer(pipeline, task)) {
        node.input = nodeOfTask[graph.getNumber(*input)];
        if (node.input < 0)
          continue;
      }
      const auto phase = llvm::find(phases, task.phase) - phases.begin();
      node.work = static_cast<int32_t>(task.chunk * phases.size() + phase);
      lastNodes[stage] = nodeOfTask[graph.getNumber(task)] =
          static_cast<int32_t>(nodes.size());
      nodes.push_back(node);
      ++next[stage];
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
