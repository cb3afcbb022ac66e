//===- Transfers.cpp - When the messages of a schedule are issued ---------===//

#include "mf/Schedule/Transfers.h"
#include "StageOrder.h"
#include <algorithm>

namespace mf::schedule {

std::vector<Transfer> planTransfers(const Schedule &schedule) {
  StageOrder order(schedule);
  std::vector<std::vector<int64_t>> starts = schedule.getUnitStarts();
  auto getEnd = [&](const Task &task) {
    return starts[order.getStage(task)][order.getPosition(task)] +
           getUnitTime(task.phase);
  };
  std::vector<Transfer> transfers;
  for (const std::vector<Task> &tasks : schedule.stages)
    for (int64_t position = 0, size = tasks.size(); position < size; ++position)
      for (const Task &input : getInputs(schedule.pipeline, tasks[position])) {
        if (order.getStage(input) == order.getStage(tasks[position]))
          continue;
        // The receive is issued by the time at which the message is made, so
        // that the message waits at the receiver and holds up nobody.
        auto issued = std::upper_bound(tasks.begin(), tasks.begin() + position,
                                       getEnd(input),
                                       [&](int64_t time, const Task &task) {
                                         return time < getEnd(task);
                                       });
        int64_t ahead = position - (issued - tasks.begin());
        transfers.push_back(
            {input, tasks[position], std::max<int64_t>(ahead, 1)});
      }
  return transfers;
}

} // namespace mf::schedule
