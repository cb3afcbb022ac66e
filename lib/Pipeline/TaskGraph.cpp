//===- TaskGraph.cpp - Tasks of a step and their dependences --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Pipeline/TaskGraph.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

namespace mf::schedule {

//===----------------------------------------------------------------------===//
// The inputs of a task
//===----------------------------------------------------------------------===//

/// Returns the task of another chunk that a task reads from (a `distance` of
/// -1) or that reads from it (1).
static std::optional<Task> getNeighbour(const Pipeline &pipeline, Task task,
                                        int32_t distance) {
  if (task.phase == Phase::WeightGradient || task.phase == Phase::Recompute)
    return std::nullopt;
  // Gradients pass in the opposite direction.
  task.chunk += task.phase == Phase::Forward ? distance : -distance;
  if (task.chunk < 0 || task.chunk >= pipeline.getNumChunks() ||
      !pipeline.runs(task.phase, task.chunk))
    return std::nullopt;
  return task;
}

static std::optional<Task> getRemoteNeighbour(const Pipeline &pipeline,
                                              const Task &task,
                                              int32_t distance) {
  std::optional<Task> other = getNeighbour(pipeline, task, distance);
  if (other &&
      pipeline.stageOfChunk[other->chunk] == pipeline.stageOfChunk[task.chunk])
    return std::nullopt;
  return other;
}

std::optional<Task> getChunkInput(const Pipeline &pipeline, const Task &task) {
  return getNeighbour(pipeline, task, -1);
}

std::optional<Task> getProducer(const Pipeline &pipeline, const Task &task) {
  return getRemoteNeighbour(pipeline, task, -1);
}

std::optional<Task> getReader(const Pipeline &pipeline, const Task &task) {
  return getRemoteNeighbour(pipeline, task, 1);
}

llvm::SmallVector<Task, 4> getInputs(const Pipeline &pipeline,
                                     const Task &task) {
  llvm::SmallVector<Task, 4> inputs;
  auto add = [&](Phase phase, int32_t piece) {
    inputs.push_back({phase, task.chunk, task.microBatch, piece});
  };
  if (task.phase == Phase::WeightGradient) {
    add(Phase::InputGradient, task.piece);
    return inputs;
  }
  bool isForward = task.phase == Phase::Forward;
  if (!isForward)
    add(Phase::Forward, task.piece);
  if (task.phase == Phase::Recompute)
    return inputs;
  if (!isForward && pipeline.recomputes(task.chunk, task.microBatch))
    add(Phase::Recompute, task.piece);
  if (std::optional<Task> other = getChunkInput(pipeline, task))
    inputs.push_back(*other);
  int32_t piece = isForward ? task.piece - 1 : task.piece + 1;
  if (piece >= 0 && piece < pipeline.pieces)
    add(task.phase, piece);
  return inputs;
}

std::optional<Task> getEarlierGradient(const Pipeline &pipeline,
                                       const Task &task) {
  if (task.phase == Phase::Forward || task.phase == Phase::Recompute)
    return std::nullopt;
  if (task.piece + 1 < pipeline.pieces)
    return Task{task.phase, task.chunk, task.microBatch, task.piece + 1};
  if (task.microBatch > 0)
    return Task{task.phase, task.chunk, task.microBatch - 1, 0};
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// TaskGraph
//===----------------------------------------------------------------------===//

TaskGraph::TaskGraph(const Pipeline &pipeline, bool splitsBackward)
    : pipeline(pipeline),
      phases({Phase::Forward,
              splitsBackward ? Phase::InputGradient : Phase::Backward}) {
  if (splitsBackward)
    phases.push_back(Phase::WeightGradient);
  if (!pipeline.recomputed.empty())
    phases.push_back(Phase::Recompute);
  numTasks = static_cast<int64_t>(phases.size()) * pipeline.getNumChunks() *
             pipeline.microBatches * pipeline.pieces;
  addNodes(numTasks);
}

TaskGraph::TaskGraph(const Schedule &schedule, InputEdges inputEdges)
    : TaskGraph(schedule.pipeline, schedule.splitsBackward) {
  positions.resize(numTasks, -1);
  if (!schedule.pairs.empty())
    for (auto [stage, tasks] : llvm::enumerate(schedule.stages))
      for (size_t position = 1; position < tasks.size(); ++position)
        if (schedule.isPairedWithNext(static_cast<int64_t>(stage),
                                      static_cast<int64_t>(position) - 1))
          join(tasks[position - 1], tasks[position]);
  for (const std::vector<Task> &tasks : schedule.stages)
    for (auto [position, task] : llvm::enumerate(tasks)) {
      positions[getNumber(task)] = static_cast<int32_t>(position);
      if (position > 0 && getNode(tasks[position - 1]) != getNode(task))
        addEdge(tasks[position - 1], task);
      if (inputEdges == InputEdges::All)
        for (const Task &input : getInputs(pipeline, task))
          addEdge(input, task);
      else if (inputEdges == InputEdges::FromOtherStages)
        if (std::optional<Task> producer = getProducer(pipeline, task))
          addEdge(*producer, task);
    }
}

void TaskGraph::join(const Task &first, const Task &task) {
  if (slots.empty()) {
    slots.resize(numTasks);
    std::iota(slots.begin(), slots.end(), int64_t{0});
  }
  slots[getNumber(task)] = getNode(first);
}

Task TaskGraph::getTask(int64_t number) const {
  int64_t run = number / pipeline.pieces, chunk = run / pipeline.microBatches;
  return {phases[chunk / pipeline.getNumChunks()],
          static_cast<int32_t>(chunk % pipeline.getNumChunks()),
          static_cast<int32_t>(run % pipeline.microBatches),
          static_cast<int32_t>(number % pipeline.pieces)};
}

bool TaskGraph::isKnown(const Task &task) const {
  return llvm::is_contained(phases, task.phase) && task.chunk >= 0 &&
         task.chunk < pipeline.getNumChunks() && task.microBatch >= 0 &&
         task.microBatch < pipeline.microBatches && task.piece >= 0 &&
         task.piece < pipeline.pieces && pipeline.runs(task);
}

std::vector<int32_t> TaskGraph::getOrder() const {
  std::vector<int32_t> waitsFor = numInputs, order;
  order.reserve(size());
  for (int64_t node = 0; node < size(); ++node)
    if (waitsFor[node] == 0)
      order.push_back(static_cast<int32_t>(node));
  // The order grows while it is walked.
  for (size_t position = 0; position < order.size(); ++position)
    forEachSuccessor(order[position], [&](int32_t successor) {
      if (--waitsFor[successor] == 0)
        order.push_back(successor);
    });
  return order;
}

std::vector<int64_t> TaskGraph::findCycle() const {
  std::vector<bool> isLeft(size(), true);
  for (int32_t node : getOrder())
    isLeft[node] = false;
  // Every remaining node waits for another one, so following these edges
  // backwards leads to a cycle.
  std::vector<int64_t> blocker(size(), -1);
  for (const Edge &edge : edges)
    if (isLeft[edge.first])
      blocker[edge.second] = edge.first;
  auto left = llvm::find(isLeft, true);
  if (left == isLeft.end())
    return {};
  int64_t node = left - isLeft.begin();
  for (int64_t step = 0; step < size(); ++step)
    node = blocker[node];
  std::vector<int64_t> cycle = {node};
  for (int64_t next = blocker[node]; next != node; next = blocker[next])
    cycle.push_back(next);
  return cycle;
}

} // namespace mf::schedule
