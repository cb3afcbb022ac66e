//===- StageOrder.cpp - Where the tasks of a schedule are -----------------===//

#include "StageOrder.h"
#include <algorithm>

namespace mf::schedule {

StageOrder::StageOrder(const Schedule &schedule)
    : schedule(schedule), numbers(schedule.pipeline, schedule.splitsBackward),
      positions(numbers.size(), -1) {
  for (const std::vector<Task> &tasks : schedule.stages)
    for (size_t position = 0; position < tasks.size(); ++position)
      positions[numbers.getNumber(tasks[position])] = position;
}

std::string StageOrder::describe(const Task &task) const {
  return schedule.pipeline.getName(task) + " of stage " +
         std::to_string(getStage(task)) + " (task " +
         std::to_string(getPosition(task)) + ")";
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

std::string StageOrder::describeCycle(
    std::vector<int64_t> cycle,
    llvm::function_ref<std::string(int64_t)> describeOther) const {
  auto isTask = [&](int64_t node) { return node < numbers.size(); };
  auto follows = [&](int64_t node, int64_t waitedFor) {
    if (!isTask(node) || !isTask(waitedFor))
      return false;
    Task task = numbers.getTask(node), other = numbers.getTask(waitedFor);
    return getStage(task) == getStage(other) &&
           getPosition(task) == getPosition(other) + 1;
  };
  // Begin behind the last of some steps along a stage.
  for (size_t turn = 0; turn < cycle.size(); ++turn) {
    if (follows(cycle.back(), cycle.front()) &&
        !follows(cycle[0], cycle[1 % cycle.size()]))
      break;
    std::rotate(cycle.begin(), cycle.begin() + 1, cycle.end());
  }
  auto name = [&](int64_t node) {
    return isTask(node) ? describe(numbers.getTask(node)) : describeOther(node);
  };
  std::string text = name(cycle.front());
  bool isFirst = true;
  for (size_t index = 0; index < cycle.size(); ++index) {
    auto at = [&](size_t other) { return cycle[other % cycle.size()]; };
    bool isStep = follows(at(index), at(index + 1));
    // All steps along a stage are told as one, and so are all that a chain of
    // inputs leads to.
    bool goesOn = index + 1 < cycle.size() && isTask(at(index)) &&
                  isTask(at(index + 1)) && isTask(at(index + 2)) &&
                  follows(at(index + 1), at(index + 2)) == isStep;
    if (goesOn)
      continue;
    text += isFirst ? "" : ", which";
    isFirst = false;
    text += isStep ? " runs behind " : " waits for ";
    text += name(at(index + 1));
  }
  return text;
}

} // namespace mf::schedule
