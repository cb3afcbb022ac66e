//===- TaskGraph.cpp - Tasks as numbers and what they wait for ------------===//

#include "TaskGraph.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::schedule {

TaskNumbers::TaskNumbers(const Pipeline &pipeline, bool splitsBackward)
    : phases({Phase::Forward}), chunks(pipeline.getNumChunks()),
      microBatches(pipeline.microBatches), pieces(pipeline.pieces) {
  phases.push_back(getGradientPhase(splitsBackward));
  if (splitsBackward)
    phases.push_back(Phase::WeightGradient);
}

int64_t TaskNumbers::getNumber(const Task &task) const {
  int64_t phase = llvm::find(phases, task.phase) - phases.begin();
  return ((phase * chunks + task.chunk) * microBatches + task.microBatch) *
             pieces +
         task.piece;
}

Task TaskNumbers::getTask(int64_t number) const {
  int64_t run = number / pieces, chunk = run / microBatches;
  return {phases[chunk / chunks], static_cast<int32_t>(chunk % chunks),
          static_cast<int32_t>(run % microBatches),
          static_cast<int32_t>(number % pieces)};
}

bool TaskNumbers::isKnown(const Task &task) const {
  return llvm::is_contained(phases, task.phase) && task.chunk >= 0 &&
         task.chunk < chunks && task.microBatch >= 0 &&
         task.microBatch < microBatches && task.piece >= 0 &&
         task.piece < pieces;
}

llvm::SmallVector<Task, 3> getInputs(const Pipeline &pipeline,
                                     const Task &task) {
  llvm::SmallVector<Task, 3> inputs;
  auto add = [&](Phase phase, int32_t chunk, int32_t piece) {
    inputs.push_back({phase, chunk, task.microBatch, piece});
  };
  switch (task.phase) {
  case Phase::Forward:
    if (task.chunk > 0)
      add(Phase::Forward, task.chunk - 1, task.piece);
    if (task.piece > 0)
      add(Phase::Forward, task.chunk, task.piece - 1);
    break;
  case Phase::Backward:
  case Phase::InputGradient:
    add(Phase::Forward, task.chunk, task.piece);
    if (task.chunk + 1 < pipeline.getNumChunks())
      add(task.phase, task.chunk + 1, task.piece);
    if (task.piece + 1 < pipeline.pieces)
      add(task.phase, task.chunk, task.piece + 1);
    break;
  case Phase::WeightGradient:
    add(Phase::InputGradient, task.chunk, task.piece);
    break;
  }
  return inputs;
}

std::optional<Task> getEarlierGradient(const Pipeline &pipeline,
                                       const Task &task) {
  if (task.phase == Phase::Forward)
    return std::nullopt;
  if (task.piece + 1 < pipeline.pieces)
    return Task{task.phase, task.chunk, task.microBatch, task.piece + 1};
  if (task.microBatch > 0)
    return Task{task.phase, task.chunk, task.microBatch - 1, 0};
  return std::nullopt;
}

} // namespace mf::schedule
