//===- StageOrder.h - Where the tasks of a schedule are -------*- C++ -*-===//

#ifndef MF_LIB_SCHEDULE_STAGEORDER_H
#define MF_LIB_SCHEDULE_STAGEORDER_H

#include "TaskGraph.h"
#include "WaitGraph.h"

namespace mf::schedule {

/// The positions of a schedule's tasks, each of which is known and there once.
class StageOrder {
public:
  explicit StageOrder(const Schedule &schedule);

  const TaskNumbers &getNumbers() const { return numbers; }
  int64_t getStage(const Task &task) const {
    return schedule.pipeline.stageOfChunk[task.chunk];
  }
  /// Where the task is among those of its stage.
  int64_t getPosition(const Task &task) const {
    return positions[numbers.getNumber(task)];
  }
  std::string getName(const Task &task) const {
    return schedule.pipeline.getName(task);
  }

  /// Adds that each task waits for the one before it on its stage and for its
  /// inputs `needs` is true for. Nodes are task numbers.
  void addEdges(WaitGraph &graph,
                llvm::function_ref<bool(const Task &input, const Task &task)>
                    needs) const;

private:
  const Schedule &schedule;
  TaskNumbers numbers;
  std::vector<int64_t> positions;
};

} // namespace mf::schedule

#endif // MF_LIB_SCHEDULE_STAGEORDER_H
