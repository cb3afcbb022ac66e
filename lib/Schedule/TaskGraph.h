//===- TaskGraph.h - Tasks as numbers and what they wait for --*- C++ -*-===//

#ifndef MF_LIB_SCHEDULE_TASKGRAPH_H
#define MF_LIB_SCHEDULE_TASKGRAPH_H

#include "mf/Schedule/Schedule.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace mf::schedule {

/// Numbers the tasks of a pipeline densely: phase by phase, chunk by chunk,
/// micro-batch by micro-batch, piece by piece.
class TaskNumbers {
public:
  TaskNumbers(const Pipeline &pipeline, bool splitsBackward);

  int64_t size() const {
    return phases.size() * chunks * microBatches * pieces;
  }
  /// The number of a task that isKnown().
  int64_t getNumber(const Task &task) const;
  Task getTask(int64_t number) const;
  /// The task is one of the pipeline's.
  bool isKnown(const Task &task) const;

private:
  llvm::SmallVector<Phase, 3> phases;
  int64_t chunks;
  int64_t microBatches, pieces;
};

/// The phase whose results the chunk before waits for.
inline Phase getGradientPhase(bool splitsBackward) {
  return splitsBackward ? Phase::InputGradient : Phase::Backward;
}

/// The tasks that a task waits for on any stage: the forward of the chunk
/// before and of the piece before, the gradient of the chunk behind and of the
/// piece behind, its own forward or input gradient. At most three.
llvm::SmallVector<Task, 3> getInputs(const Pipeline &pipeline,
                                     const Task &task);

/// The gradient of the same chunk and kind that is added right before that of
/// `task`; none for the first one, and for forwards.
std::optional<Task> getEarlierGradient(const Pipeline &pipeline,
                                       const Task &task);

} // namespace mf::schedule

#endif // MF_LIB_SCHEDULE_TASKGRAPH_H
