//===- Timeline.cpp - A schedule in unit times ----------------------------===//

#include "StageOrder.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>

namespace mf::schedule {

std::vector<std::vector<int64_t>> Schedule::getUnitStarts() const {
  StageOrder order(*this);
  const TaskNumbers &numbers = order.getNumbers();
  WaitGraph graph(numbers.size());
  order.addEdges(graph, [](const Task &, const Task &) { return true; });
  graph.index();
  std::vector<int64_t> starts(numbers.size(), 0);
  graph.walk([&](int64_t number) {
    int64_t end = starts[number] + getUnitTime(numbers.getTask(number).phase);
    for (int64_t successor : graph.getSuccessors(number))
      starts[successor] = std::max(starts[successor], end);
  });
  std::vector<std::vector<int64_t>> startsOfStages(stages.size());
  for (size_t stage = 0; stage < stages.size(); ++stage)
    for (const Task &task : stages[stage])
      startsOfStages[stage].push_back(starts[numbers.getNumber(task)]);
  return startsOfStages;
}

double Schedule::getUnitBubble() const {
  std::vector<std::vector<int64_t>> starts = getUnitStarts();
  int64_t work = 0, end = 0;
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    for (const Task &task : stages[stage])
      work += getUnitTime(task.phase);
    end = std::max(end, starts[stage].back() +
                            getUnitTime(stages[stage].back().phase));
  }
  int64_t total = end * static_cast<int64_t>(stages.size());
  return static_cast<double>(total - work) / static_cast<double>(work);
}

void Schedule::printTimeline(llvm::raw_ostream &os) const {
  std::vector<std::vector<int64_t>> starts = getUnitStarts();
  size_t width = 0;
  for (const std::vector<Task> &tasks : stages)
    for (const Task &task : tasks)
      width = std::max(width, pipeline.getName(task).size() + 1);
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    std::string line = "stage " + std::to_string(stage) + ":";
    auto addCells = [&](std::string text, char padding, int64_t cells) {
      text.resize(cells * width - 1, padding);
      line += " " + text;
    };
    int64_t time = 0;
    for (size_t index = 0; index < stages[stage].size(); ++index) {
      for (; time < starts[stage][index]; ++time)
        addCells(".", ' ', 1);
      const Task &task = stages[stage][index];
      int64_t duration = getUnitTime(task.phase);
      addCells(pipeline.getName(task), duration > 1 ? '-' : ' ', duration);
      time += duration;
    }
    os << llvm::StringRef(line).rtrim() << "\n";
  }
}

} // namespace mf::schedule
