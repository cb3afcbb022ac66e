//===- StageOrder.cpp - Where the tasks of a schedule are -----------------===//

#include "StageOrder.h"

namespace mf::schedule {

StageOrder::StageOrder(const Schedule &schedule)
    : schedule(schedule), numbers(schedule.pipeline, schedule.splitsBackward),
      positions(numbers.size(), -1) {
  for (const std::vector<Task> &tasks : schedule.stages)
    for (size_t position = 0; position < tasks.size(); ++position)
      positions[numbers.getNumber(tasks[position])] = position;
}

void StageOrder::addEdges(
    WaitGraph &graph,
    llvm::function_ref<bool(const Task &input, const Task &task)> needs) const {
  for (const std::vector<Task> &tasks : schedule.stages)
    for (size_t position = 0; position < tasks.size(); ++position) {
      int64_t number = numbers.getNumber(tasks[position]);
      if (position > 0)
        graph.addEdge(numbers.getNumber(tasks[position - 1]), number);
      for (const Task &input : getInputs(schedule.pipeline, tasks[position]))
        if (needs(input, tasks[position]))
          graph.addEdge(numbers.getNumber(input), number);
    }
}

} // namespace mf::schedule
