//===- Transfers.cpp - When the messages of a schedule are issued ---------===//

#include "mf/Schedule/Transfers.h"
#include "StageOrder.h"
#include <algorithm>

namespace mf::schedule {

namespace {

bool crossesStages(const Pipeline &pipeline, const Task &producer,
                   const Task &reader) {
  return pipeline.stageOfChunk[producer.chunk] !=
         pipeline.stageOfChunk[reader.chunk];
}

/// The end of every task, by number, in unit times and without any time for
/// transfers.
std::vector<int64_t> getEnds(const Schedule &schedule,
                             const StageOrder &order) {
  const TaskNumbers &numbers = order.getNumbers();
  WaitGraph graph(numbers.size());
  order.addEdges(graph, [](const Task &, const Task &) { return true; });
  graph.index();
  std::vector<int64_t> starts(numbers.size(), 0), ends(numbers.size(), 0);
  graph.walk([&](int64_t number) {
    ends[number] = starts[number] + getUnitTime(numbers.getTask(number).phase);
    for (int64_t successor : graph.getSuccessors(number))
      starts[successor] = std::max(starts[successor], ends[number]);
  });
  return ends;
}

} // namespace

std::vector<Transfer> planTransfers(const Schedule &schedule) {
  StageOrder order(schedule);
  const TaskNumbers &numbers = order.getNumbers();
  std::vector<int64_t> ends = getEnds(schedule, order);
  std::vector<Transfer> transfers;
  for (const std::vector<Task> &tasks : schedule.stages)
    for (int64_t position = 0, size = tasks.size(); position < size; ++position)
      for (const Task &input : getInputs(schedule.pipeline, tasks[position])) {
        if (!crossesStages(schedule.pipeline, input, tasks[position]))
          continue;
        // The receive is issued by the time at which the message is made, so
        // that the message waits at the receiver and holds up nobody.
        int64_t made = ends[numbers.getNumber(input)];
        auto issued =
            std::upper_bound(tasks.begin(), tasks.begin() + position, made,
                             [&](int64_t time, const Task &task) {
                               return time < ends[numbers.getNumber(task)];
                             });
        int64_t ahead = position - (issued - tasks.begin());
        transfers.push_back(
            {input, tasks[position], std::max<int64_t>(ahead, 1)});
      }
  return transfers;
}

} // namespace mf::schedule
