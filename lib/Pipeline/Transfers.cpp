//===- Transfers.cpp - Issue times of a schedule's messages ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Pipeline/Transfers.h"
#include "mf/Pipeline/TaskGraph.h"
#include <algorithm>

namespace mf::schedule {

namespace {

/// The ends of the slots of a schedule in unit times.
class SlotEnds {
public:
  explicit SlotEnds(const Schedule &schedule)
      : schedule(schedule), graph(schedule, TaskGraph::InputEdges::None),
        starts(schedule.getUnitStarts()) {}

  /// Returns the end time of the slot of a task.
  int64_t getEnd(const Task &task) const {
    const int64_t stage = graph.getStage(task);
    const int64_t last =
        schedule.getSlotEnd(stage, graph.getPosition(task)) - 1;
    return starts[stage][last] +
           getUnitTime(schedule.stages[stage][last].phase);
  }

  Transfer plan(const Task &producer, const Task &reader) const;

private:
  const Schedule &schedule;
  const TaskGraph graph;
  const std::vector<std::vector<int64_t>> starts;
};

/// Plans a transfer. The receive is issued no later than the message is
/// computed, so that the message waits at the receiver and blocks nobody, and
/// at the latest during the slot before the reader's. The sender overlaps the
/// transfer with its next slot.
Transfer SlotEnds::plan(const Task &producer, const Task &reader) const {
  Transfer transfer{producer, reader};
  const int64_t stage = graph.getStage(reader);
  const int64_t position = graph.getPosition(reader);
  const llvm::ArrayRef<Task> before =
      llvm::ArrayRef(schedule.stages[stage]).take_front(position);
  const auto issued = std::upper_bound(
      before.begin(), before.end(), getEnd(producer),
      [&](int64_t time, const Task &other) { return time < getEnd(other); });
  const int64_t slot = schedule.getSlotBegin(stage, position);
  const int64_t beside = slot > 0 ? schedule.getSlotBegin(stage, slot - 1) : -1;
  transfer.ahead =
      position - std::min<int64_t>(issued - before.begin(), beside);
  const int64_t sender = graph.getStage(producer);
  const int64_t made = graph.getPosition(producer);
  const int64_t next = schedule.getSlotEnd(sender, made);
  const auto numTasks = static_cast<int64_t>(schedule.stages[sender].size());
  transfer.behind =
      (next < numTasks ? schedule.getSlotEnd(sender, next) : next + 1) - made;
  return transfer;
}

} // namespace

std::vector<Transfer> planTransfers(const Schedule &schedule) {
  const SlotEnds ends(schedule);
  std::vector<Transfer> transfers;
  for (const std::vector<Task> &tasks : schedule.stages)
    for (const Task &task : tasks)
      if (std::optional<Task> producer = getProducer(schedule.pipeline, task))
        transfers.push_back(ends.plan(*producer, task));
  return transfers;
}

} // namespace mf::schedule
