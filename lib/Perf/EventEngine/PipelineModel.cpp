//===- PipelineModel.cpp - The timeline of a schedule ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/EventEngine/PipelineModel.h"
#include "mf/Pipeline/ScheduleError.h"
#include "mf/Pipeline/TaskGraph.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

using llvm::Error;
using llvm::Expected;
using llvm::Twine;

namespace mf::events {

//===----------------------------------------------------------------------===//
// The order of tasks, sends and receives on a stage in the published model.
//===----------------------------------------------------------------------===//

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
  StageTransfers(const Schedule &schedule, int64_t stage)
      : schedule(schedule), pipeline(schedule.pipeline),
        tasks(schedule.stages[stage]), stage(stage),
        chunksPerStage(pipeline.getNumChunks() / pipeline.stages),
        remainder(pipeline.microBatches % pipeline.stages),
        firstGroup(
            std::min(pipeline.stages + remainder, pipeline.microBatches)) {
    size_t forwards = llvm::count_if(
        tasks, [](const Task &task) { return task.phase == Phase::Forward; });
    steadyBegin = forwards;
    if (std::optional<int64_t> lead = getLead(schedule))
      steadyBegin =
          std::min<size_t>(forwards, firstGroup * (chunksPerStage - 1) +
                                         *lead * (pipeline.stages - stage - 1));
    steadyEnd = steadyBegin + 2 * (forwards - steadyBegin);
  }

  std::vector<Block> place() const {
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
  std::vector<Send> getSends() const {
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

  size_t getLateness(size_t index) const {
    if (!isInterleaved() || !getLead(schedule))
      return 0;
    const Task &task = tasks[index];
    size_t lateness = isSteady(index) && isSteady(index + 1);
    if (task.microBatch >= firstGroup)
      return lateness;
    if (task.phase == Phase::Forward && stage == pipeline.stages - 1)
      lateness += remainder +
                  std::max<int64_t>(0, task.microBatch - pipeline.stages + 1);
    if (task.phase == Phase::Backward && stage == 0)
      lateness += isSteady(index) ? 2 * remainder : remainder;
    return lateness;
  }

  bool sendsFirst(size_t index, size_t numSends) const {
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

/// Returns the blocks of every stage, without times.
static std::vector<std::vector<Block>>
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

/// Returns the time that blocking transfers of length 1 add to a step if all
/// chunks take the same time; nothing for a schedule without a closed formula.
static std::optional<double> getBlockingTransferTime(const Schedule &schedule) {
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

namespace {

/// Returns the number at an index of a list, or 0 if the list is empty.
inline double getOrZero(llvm::ArrayRef<double> numbers, size_t index) {
  return numbers.empty() ? 0 : numbers[index];
}

/// The durations of a schedule's tasks. All pieces of a sequence take the same
/// time, although later ones read more.
class TaskTimes {
public:
  TaskTimes(const schedule::Schedule &schedule, const PipelineCosts &costs)
      : schedule(schedule), costs(costs) {
    const bool hasTasks = !schedule.pipeline.recomputed.empty();
    for (auto [chunk, forward] : llvm::enumerate(costs.forward)) {
      double backward = costs.getBackward(chunk);
      double input = costs.weightGradient.empty()
                         ? backward * costs.inputGradientShare
                         : backward - costs.weightGradient[chunk];
      double recompute = getOrZero(costs.recompute, chunk);
      double within = hasTasks ? 0 : recompute;
      times.push_back({forward, backward + within, input + within,
                       backward - input, recompute});
    }
  }

  /// Returns the time of a task that has a slot of its own.
  double get(const schedule::Task &task) const {
    return times[task.chunk][static_cast<size_t>(task.phase)] /
           static_cast<double>(schedule.pipeline.pieces);
  }

  /// Calls `visit(tasks, duration, hidden)` for each slot: `hidden` is the time
  /// that it saves.
  template <typename Visit> void forEachSlot(Visit visit) const {
    for (auto [number, tasks] : llvm::enumerate(schedule.stages)) {
      const auto stage = static_cast<int64_t>(number);
      const auto numTasks = static_cast<int64_t>(tasks.size());
      for (int64_t begin = 0; begin < numTasks;) {
        const int64_t end = schedule.getSlotEnd(stage, begin);
        double rest = 0;
        for (int64_t position = begin + 1; position < end; ++position)
          rest += get(tasks[position]);
        const double first = get(tasks[begin]);
        const double hidden = costs.pairHidden * std::min(first, rest);
        visit(llvm::ArrayRef(tasks).slice(begin, end - begin),
              first + rest - hidden, hidden);
        begin = end;
      }
    }
  }

private:
  /// Durations of a chunk's tasks by phase.
  using ChunkTimes = std::array<double, 5>;

  const schedule::Schedule &schedule;
  const PipelineCosts &costs;
  std::vector<ChunkTimes> times;
};

Error checkNumber(double number, const Twine &what) {
  if (std::isfinite(number) && number >= 0)
    return Error::success();
  return llvm::createStringError("the " + what +
                                 llvm::formatv(" is {0}, expected a finite "
                                               "number from 0",
                                               number));
}

Error checkNumbers(llvm::ArrayRef<double> numbers, int64_t count,
                   const Twine &what, const Twine &owners, bool mayBeEmpty) {
  if (mayBeEmpty && numbers.empty())
    return Error::success();
  if (static_cast<int64_t>(numbers.size()) != count)
    return llvm::createStringError(
        "there are " + Twine(numbers.size()) + " numbers for the " + what +
        " of " + Twine(count) + " " + owners + ", expected one for each");
  for (double number : numbers)
    if (Error error = checkNumber(number, what))
      return error;
  return Error::success();
}

/// Checks the times of backwards; those of forwards are right.
Error checkBackwards(const PipelineCosts &costs, int64_t chunks) {
  if (Error error = checkNumber(costs.backwardRatio, "backward ratio"))
    return error;
  if (Error error =
          checkNumbers(costs.backward, chunks, "backward time", "chunks", true))
    return error;
  if (Error error = checkNumbers(costs.weightGradient, chunks,
                                 "weight gradient's time", "chunks", true))
    return error;
  for (auto [chunk, weight] : llvm::enumerate(costs.weightGradient))
    if (weight > costs.getBackward(chunk))
      return llvm::createStringError(llvm::formatv(
          "the weight gradient of chunk {0} takes {1}, expected at most the "
          "{2} of its backward",
          chunk, weight, costs.getBackward(chunk)));
  return Error::success();
}

} // namespace

Error PipelineCosts::check(const schedule::Pipeline &pipeline) const {
  int64_t chunks = pipeline.getNumChunks();
  if (Error error =
          checkNumbers(forward, chunks, "forward time", "chunks", false))
    return error;
  if (Error error =
          checkNumbers(recompute, chunks, "recompute time", "chunks", true))
    return error;
  if (Error error = checkNumbers(activationMemory, chunks, "activation memory",
                                 "chunks", true))
    return error;
  if (Error error = checkNumbers(parameterMemory, pipeline.stages,
                                 "parameter memory", "stages", true))
    return error;
  if (Error error = checkBackwards(*this, chunks))
    return error;
  if (Error error = checkNumber(transferTime, "transfer time"))
    return error;
  if (Error error = checkNumber(constantMemory, "constant memory"))
    return error;
  auto checkShare = [](double share, const char *what) -> Error {
    if (share >= 0 && share <= 1)
      return Error::success();
    return llvm::createStringError(llvm::formatv(
        "the share {0} is {1}, expected a number from 0 to 1", what, share));
  };
  if (Error error = checkShare(inputGradientShare, "of the input gradient"))
    return error;
  return checkShare(pairHidden, "of a forward that a backward hides");
}

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
  Expected<std::vector<std::vector<Block>>> run() {
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

private:
  int64_t getMessage(const Task &producer) const {
    return graph.getNumTasks() + graph.getNumber(producer);
  }

  int64_t getNode(const Block &block) const {
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

  /// Returns the other stage's block of the same message.
  Block getOtherSide(const Block &transfer) const {
    if (transfer.kind == BlockKind::Send)
      return {BlockKind::Receive, *getReader(pipeline, transfer.task)};
    return {BlockKind::Send, *getProducer(pipeline, transfer.task)};
  }

  /// A message follows the previous blocks of both stages.
  void addBlockingMessages() {
    graph.addNodes(graph.getNumTasks());
    for (llvm::ArrayRef<Block> stage : blocks)
      for (size_t index = 1; index < stage.size(); ++index)
        graph.addEdge(getNode(stage[index - 1]), getNode(stage[index]));
  }

  /// A message follows its task and the previous message between the same
  /// stages.
  void addOverlappedMessages() {
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

  std::vector<double> getDurations() const {
    const TaskTimes times(schedule, costs);
    std::vector<double> durations(graph.size(), costs.transferTime);
    times.forEachSlot([&](llvm::ArrayRef<Task> slot, double duration, double) {
      durations[graph.getNode(slot.front())] = duration;
    });
    return durations;
  }

  std::string getName(const Block &transfer) const {
    return ((transfer.kind == BlockKind::Send ? "the send after "
                                              : "the receive before ") +
            pipeline.getName(transfer.task) + " on stage " +
            Twine(graph.getStage(transfer.task)))
        .str();
  }

  /// Returns the error for an order without some nodes: stages are blocked at
  /// transfers that other stages never reach.
  Error explainDeadlock(llvm::ArrayRef<int32_t> order) const {
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
    return llvm::make_error<ScheduleError>(
        "deadlock: " + llvm::join(waits, ", "), std::move(places));
  }

  const Schedule &schedule;
  const Pipeline &pipeline;
  const PipelineCosts &costs;
  TaskGraph graph;
  std::vector<std::vector<Block>> blocks;
};

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
