//===- TaskGraph.cpp - Tasks as numbers and what they wait for ------------===//

#include "TaskGraph.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::schedule {

TaskNumbers::TaskNumbers(const Pipeline &pipeline, bool splitsBackward)
    : phases({Phase::Forward}), chunks(pipeline.getNumChunks()),
      microBatches(pipeline.microBatches) {
  phases.push_back(getGradientPhase(splitsBackward));
  if (splitsBackward)
    phases.push_back(Phase::WeightGradient);
}

int64_t TaskNumbers::getNumber(const Task &task) const {
  int64_t phase = llvm::find(phases, task.phase) - phases.begin();
  return (phase * chunks + task.chunk) * microBatches + task.microBatch;
}

Task TaskNumbers::getTask(int64_t number) const {
  int64_t chunk = number / microBatches;
  return {phases[chunk / chunks], static_cast<int32_t>(chunk % chunks),
          static_cast<int32_t>(number % microBatches)};
}

bool TaskNumbers::isKnown(const Task &task) const {
  return llvm::is_contained(phases, task.phase) && task.chunk >= 0 &&
         task.chunk < chunks && task.microBatch >= 0 &&
         task.microBatch < microBatches;
}

llvm::SmallVector<Task, 2> getInputs(const Pipeline &pipeline,
                                     const Task &task) {
  llvm::SmallVector<Task, 2> inputs;
  switch (task.phase) {
  case Phase::Forward:
    if (task.chunk > 0)
      inputs.push_back({Phase::Forward, task.chunk - 1, task.microBatch});
    break;
  case Phase::Backward:
  case Phase::InputGradient:
    inputs.push_back({Phase::Forward, task.chunk, task.microBatch});
    if (task.chunk + 1 < pipeline.getNumChunks())
      inputs.push_back({task.phase, task.chunk + 1, task.microBatch});
    break;
  case Phase::WeightGradient:
    inputs.push_back({Phase::InputGradient, task.chunk, task.microBatch});
    break;
  }
  return inputs;
}

} // namespace mf::schedule
