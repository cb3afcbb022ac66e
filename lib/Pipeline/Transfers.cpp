//===- Transfers.cpp - When the messages of a schedule are issued ---------===//

#include "mf/Pipeline/Transfers.h"
#include "mf/Pipeline/TaskGraph.h"
#include <algorithm>

namespace mf::schedule {

std::vector<Transfer> planTransfers(const Schedule &schedule) {
  const TaskGraph graph(schedule, TaskGraph::InputEdges::None);
  const std::vector<std::vector<int64_t>> starts = schedule.getUnitStarts();
  auto getEnd = [&](const Task &task) {
    return starts[graph.getStage(task)][graph.getPosition(task)] +
           getUnitTime(task.phase);
  };
  std::vector<Transfer> transfers;
  for (const std::vector<Task> &tasks : schedule.stages)
    for (auto task = tasks.begin(); task != tasks.end(); ++task) {
      std::optional<Task> producer = getProducer(schedule.pipeline, *task);
      if (!producer)
        continue;
      // The receive is issued by the time at which the message is made, so
      // that the message waits at the receiver and holds up nobody.
      auto issued = std::upper_bound(tasks.begin(), task, getEnd(*producer),
                                     [&](int64_t time, const Task &other) {
                                       return time < getEnd(other);
                                     });
      transfers.push_back(
          {*producer, *task, std::max<int64_t>(task - issued, 1)});
    }
  return transfers;
}

} // namespace mf::schedule
