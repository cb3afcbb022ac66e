//===- PipelineModel.cpp - The timeline of a schedule ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/EventEngine/PipelineModel.h"
#include "BlockingTransfers.h"
#include "TaskTimes.h"
#include "mf/Pipeline/ScheduleError.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include <algorithm>
#include <numeric>
#include <utility>

using llvm::Error;
using llvm::Expected;
using llvm::Twine;

namespace mf::events {

using schedule::Pipeline;
using schedule::Schedule;
using schedule::ScheduleError;
using schedule::Task;
using schedule::TaskGraph;
using schedule::TaskPlace;

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

namespace {

/// The blocks of the stages as nodes of a graph. The node of a task is its
/// index, and that of its message is this index plus the number of tasks.
class BlockTimer {
public:
  BlockTimer(const Schedule &schedule, const PipelineCosts &costs)
      : schedule(schedule), pipeline(schedule.pipeline), costs(costs),
        graph(schedule, costs.transfers == TransferMode::Free
                            ? TaskGraph::InputEdges::FromOtherStages
                            : TaskGraph::InputEdges::None) {}

  /// Returns the blocks of every stage with their times.
  Expected<std::vector<std::vector<Block>>> run();

private:
  int64_t getMessage(const Task &producer) const {
    return graph.getNumTasks() + graph.getNumber(producer);
  }
  int64_t getNode(const Block &block) const;
  /// Returns the other stage's block of the same message.
  Block getOtherSide(const Block &transfer) const;
  void addBlockingMessages();
  void addOverlappedMessages();
  std::vector<double> getDurations() const;
  std::string getName(const Block &transfer) const;
  Error explainDeadlock(llvm::ArrayRef<int32_t> order) const;

  const Schedule &schedule;
  const Pipeline &pipeline;
  const PipelineCosts &costs;
  TaskGraph graph;
  std::vector<std::vector<Block>> blocks;
};

int64_t BlockTimer::getNode(const Block &block) const {
  switch (block.kind) {
  case BlockKind::Compute:
    return graph.getNode(block.task);
  case BlockKind::Send:
    return getMessage(block.task);
  case BlockKind::Receive:
    return getMessage(*getProducer(pipeline, block.task));
  }
  llvm_unreachable("covers all kinds");
}

Block BlockTimer::getOtherSide(const Block &transfer) const {
  if (transfer.kind == BlockKind::Send)
    return {BlockKind::Receive, *getReader(pipeline, transfer.task)};
  return {BlockKind::Send, *getProducer(pipeline, transfer.task)};
}

/// A message follows the previous blocks of both stages.
void BlockTimer::addBlockingMessages() {
  graph.addNodes(graph.getNumTasks());
  for (llvm::ArrayRef<Block> stage : blocks)
    for (size_t index = 1; index < stage.size(); ++index)
      graph.addEdge(getNode(stage[index - 1]), getNode(stage[index]));
}

/// A message follows its task and the previous message between the same stages.
void BlockTimer::addOverlappedMessages() {
  graph.addNodes(graph.getNumTasks());
  // The last message, by the stage that receives it.
  llvm::SmallDenseMap<int64_t, int64_t> last;
  for (llvm::ArrayRef<Task> stage : schedule.stages) {
    last.clear();
    for (const Task &task : stage) {
      std::optional<Task> reader = getReader(pipeline, task);
      if (!reader)
        continue;
      int64_t message = getMessage(task);
      graph.addEdge(graph.getNode(task), message);
      graph.addEdge(message, graph.getNode(*reader));
      auto [previous, isFirst] =
          last.try_emplace(graph.getStage(*reader), message);
      if (!isFirst)
        graph.addEdge(std::exchange(previous->second, message), message);
    }
  }
}

std::vector<double> BlockTimer::getDurations() const {
  const TaskTimes times(schedule, costs);
  std::vector<double> durations(graph.size(), costs.transferTime);
  times.forEachSlot([&](llvm::ArrayRef<Task> slot, double duration, double) {
    durations[graph.getNode(slot.front())] = duration;
  });
  return durations;
}

Expected<std::vector<std::vector<Block>>> BlockTimer::run() {
  if (costs.transfers == TransferMode::Blocking && !schedule.pairs.empty())
    return llvm::createStringError(
        "schedule '" + schedule.name +
        "' has slots of two tasks, whose transfers do not block; expected "
        "overlapped transfers");
  if (costs.transfers == TransferMode::Blocking) {
    blocks = placeBlockingTransfers(schedule);
    addBlockingMessages();
  } else {
    for (llvm::ArrayRef<Task> tasks : schedule.stages) {
      std::vector<Block> &stage = blocks.emplace_back(tasks.size());
      for (auto [block, task] : llvm::zip_equal(stage, tasks))
        block.task = task;
    }
    if (costs.transfers == TransferMode::Overlapped)
      addOverlappedMessages();
  }
  std::vector<int32_t> order = graph.getOrder();
  if (static_cast<int64_t>(order.size()) < graph.size())
    return explainDeadlock(order);
  std::vector<double> durations = getDurations();
  std::vector<double> starts = graph.getStarts<double>(order, durations);
  for (std::vector<Block> &stage : blocks)
    for (Block &block : stage) {
      int64_t node = getNode(block);
      block.end = starts[node] + durations[node];
      // In this model, a transfer begins transferTime before its end.
      block.start = block.kind == BlockKind::Compute
                        ? starts[node]
                        : block.end - costs.transferTime;
    }
  return std::move(blocks);
}

std::string BlockTimer::getName(const Block &transfer) const {
  return ((transfer.kind == BlockKind::Send ? "the send after "
                                            : "the receive before ") +
          pipeline.getName(transfer.task) + " on stage " +
          Twine(graph.getStage(transfer.task)))
      .str();
}

/// Returns the error for an order without some nodes: stages are blocked at
/// transfers that other stages never reach.
Error BlockTimer::explainDeadlock(llvm::ArrayRef<int32_t> order) const {
  std::vector<bool> isDone(graph.size(), false);
  for (int32_t node : order)
    isDone[node] = true;
  auto find = [&](int64_t stage) {
    return llvm::find_if(blocks[stage], [&](const Block &block) {
      return !isDone[getNode(block)];
    });
  };
  int64_t stage = 0;
  while (find(stage) == blocks[stage].end())
    ++stage;
  // Every stuck stage waits for another stuck stage, so following them leads
  // back to one already visited.
  std::vector<int64_t> path;
  while (!llvm::is_contained(path, stage)) {
    path.push_back(stage);
    stage = graph.getStage(getOtherSide(*find(stage)).task);
  }
  path.erase(path.begin(), llvm::find(path, stage));

  std::vector<std::string> waits;
  std::vector<TaskPlace> places;
  for (int64_t member : path) {
    const Block &block = *find(member);
    waits.push_back(getName(block) + " waits for " +
                    getName(getOtherSide(block)));
    places.push_back({member, graph.getPosition(block.task)});
  }
  return llvm::make_error<ScheduleError>("deadlock: " + llvm::join(waits, ", "),
                                         std::move(places));
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

double sum(llvm::ArrayRef<double> numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

/// Returns the time of all recomputation of a step.
double getRecomputeTime(const Pipeline &pipeline, const PipelineCosts &costs) {
  if (pipeline.recomputed.empty())
    return static_cast<double>(pipeline.microBatches) * sum(costs.recompute);
  double time = 0;
  for (auto [chunk, ofRun] : llvm::enumerate(costs.recompute))
    for (int64_t run = 0; run < pipeline.microBatches; ++run)
      time += pipeline.recomputes(static_cast<int64_t>(chunk), run) ? ofRun : 0;
  return time;
}

Bubbles getBubbles(const Schedule &schedule, const PipelineCosts &costs,
                   double end) {
  const Pipeline &pipeline = schedule.pipeline;
  double stages = static_cast<double>(pipeline.stages),
         microBatches = static_cast<double>(pipeline.microBatches);
  const double forward = sum(costs.forward);
  double work = costs.backward.empty()
                    ? microBatches * forward * (1 + costs.backwardRatio)
                    : microBatches * (forward + sum(costs.backward));
  TaskTimes(schedule, costs)
      .forEachSlot(
          [&](llvm::ArrayRef<Task>, double, double hidden) { work -= hidden; });
  if (work <= 0)
    return {};
  Bubbles bubbles;
  bubbles.real = (stages * end - work) / work;
  bubbles.ideal =
      (stages - 1) / (static_cast<double>(pipeline.getNumChunks()) / stages *
                      microBatches * static_cast<double>(pipeline.pieces));
  bubbles.imbalance = bubbles.real - bubbles.ideal;
  if (costs.transfers == TransferMode::Blocking)
    if (std::optional<double> time = getBlockingTransferTime(schedule)) {
      bubbles.communication = stages * *time * costs.transferTime / work;
      bubbles.imbalance -= *bubbles.communication;
    }
  if (double recompute = getRecomputeTime(pipeline, costs); recompute > 0) {
    bubbles.recompute = recompute / work;
    bubbles.imbalance -= *bubbles.recompute;
  }
  return bubbles;
}

/// Adds the memory of a stage over time.
void addMemory(const Schedule &schedule, const PipelineCosts &costs,
               int64_t stage, PipelineTimeline &timeline) {
  double base = costs.constantMemory + getOrZero(costs.parameterMemory, stage);
  double held = 0, peak = 0;
  if (!costs.activationMemory.empty())
    schedule.visitActivations(stage, [&](const Task &task, bool isHeld) {
      double activation = costs.activationMemory[task.chunk] /
                          static_cast<double>(schedule.pipeline.pieces);
      held += isHeld ? activation : -activation;
      peak = std::max(peak, held);
    });
  timeline.peakMemory.push_back(base + peak);
  timeline.finalMemory.push_back(base + held);
}

} // namespace

Expected<PipelineTimeline> simulatePipeline(const Schedule &schedule,
                                            const PipelineCosts &costs) {
  if (Error error = costs.check(schedule.pipeline))
    return error;
  Expected<std::vector<std::vector<Block>>> blocks =
      BlockTimer(schedule, costs).run();
  if (!blocks)
    return blocks.takeError();
  PipelineTimeline timeline;
  timeline.stages = std::move(*blocks);
  for (auto [stage, list] : llvm::enumerate(timeline.stages)) {
    auto lastTask = std::find_if(list.rbegin(), list.rend(), [](auto &block) {
      return block.kind == BlockKind::Compute;
    });
    timeline.stageEnds.push_back(lastTask == list.rend() ? 0 : lastTask->end);
    timeline.end = std::max(timeline.end, timeline.stageEnds.back());
    addMemory(schedule, costs, static_cast<int64_t>(stage), timeline);
  }
  timeline.bubbles = getBubbles(schedule, costs, timeline.end);
  return timeline;
}

} // namespace mf::events
