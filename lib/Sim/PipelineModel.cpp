//===- PipelineModel.cpp - A schedule in time -----------------------------===//

#include "mf/Sim/PipelineModel.h"
#include "BlockingTransfers.h"
#include "mf/Sim/Lines.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

using llvm::Error;
using llvm::Expected;
using llvm::Twine;

namespace mf::sim {

using schedule::Phase;
using schedule::Pipeline;
using schedule::Schedule;
using schedule::Task;

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

namespace {

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

} // namespace

Error PipelineCosts::check(const Pipeline &pipeline) const {
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
  if (Error error = checkNumber(backwardRatio, "backward ratio"))
    return error;
  if (Error error = checkNumber(transferTime, "transfer time"))
    return error;
  if (Error error = checkNumber(constantMemory, "constant memory"))
    return error;
  if (inputGradientShare >= 0 && inputGradientShare <= 1)
    return Error::success();
  return llvm::createStringError(llvm::formatv(
      "the share of the input gradient is {0}, expected a number from 0 to 1",
      inputGradientShare));
}

//===----------------------------------------------------------------------===//
// Lines
//===----------------------------------------------------------------------===//

namespace {

double getOrZero(llvm::ArrayRef<double> numbers, size_t index) {
  return numbers.empty() ? 0 : numbers[index];
}

/// Durations of a chunk's tasks by phase.
using ChunkTimes = std::array<double, 4>;

std::vector<ChunkTimes> getTimes(const PipelineCosts &costs) {
  std::vector<ChunkTimes> times;
  for (auto [chunk, forward] : llvm::enumerate(costs.forward)) {
    double backward = forward * costs.backwardRatio;
    double input = backward * costs.inputGradientShare;
    double recompute = getOrZero(costs.recompute, chunk);
    times.push_back(
        {forward, backward + recompute, input + recompute, backward - input});
  }
  return times;
}

/// Turns the blocks of the stages into lines: one per stage, and for overlapped
/// transfers one per ordered pair of stages that send to one another.
class PipelineLines {
public:
  PipelineLines(const Schedule &schedule, const PipelineCosts &costs)
      : pipeline(schedule.pipeline), costs(costs), times(getTimes(costs)) {
    if (costs.transfers == TransferMode::Blocking) {
      blocks = placeBlockingTransfers(schedule);
      return;
    }
    for (llvm::ArrayRef<Task> tasks : schedule.stages) {
      std::vector<Block> &stage = blocks.emplace_back(tasks.size());
      for (auto [block, task] : llvm::zip_equal(stage, tasks))
        block.task = task;
    }
  }

  /// The blocks of every stage with their times.
  Expected<std::vector<std::vector<Block>>> run() {
    if (costs.transfers == TransferMode::Blocking)
      addBlockingStages();
    else
      addStages();
    Expected<Timeline> timeline =
        simulate(lines, [&](ItemId item) { return getName(item); });
    if (!timeline)
      return timeline.takeError();
    for (int64_t stage = 0; stage < pipeline.stages; ++stage)
      setTimes(stage, *timeline);
    return std::move(blocks);
  }

private:
  /// Messages are numbered by what they are of: a forward or a gradient.
  int32_t getMessage(const Task &producer) const {
    int32_t isGradient = producer.phase != Phase::Forward;
    return ((isGradient * pipeline.getNumChunks() + producer.chunk) *
                pipeline.microBatches +
            producer.microBatch) *
               pipeline.pieces +
           producer.piece;
  }
  int32_t getNumMessages() const {
    return 2 * pipeline.getNumChunks() * pipeline.microBatches *
           pipeline.pieces;
  }
  /// Pieces of a sequence take the same, though those behind read more.
  double getTime(const Task &task) const {
    return times[task.chunk][static_cast<size_t>(task.phase)] /
           static_cast<double>(pipeline.pieces);
  }

  void addBlockingStages();
  void addStages();
  void addTask(LineId line, const Task &task);
  /// The line of the messages from one stage to another.
  LineId getLink(int64_t from, int64_t to);
  void setTimes(LineId stage, const Timeline &timeline);
  std::string getName(ItemId item) const;

  const Pipeline &pipeline;
  const PipelineCosts &costs;
  std::vector<ChunkTimes> times;
  std::vector<std::vector<Block>> blocks;
  Lines lines;
  /// By sender and receiver.
  llvm::DenseMap<std::pair<int64_t, int64_t>, LineId> links;
  EventId arrivals = 0;
};

/// A block is an item.
void PipelineLines::addBlockingStages() {
  for (int32_t message = 0; message < getNumMessages(); ++message)
    lines.addGroup(costs.transferTime);
  for (llvm::ArrayRef<Block> stage : blocks) {
    LineId line = lines.addLine();
    for (const Block &block : stage) {
      switch (block.kind) {
      case BlockKind::Compute:
        lines.addWork(line, getTime(block.task));
        break;
      case BlockKind::Send:
        lines.addRendezvous(line, getMessage(block.task));
        break;
      case BlockKind::Receive:
        lines.addRendezvous(line,
                            getMessage(*getProducer(pipeline, block.task)));
        break;
      }
    }
  }
}

void PipelineLines::addStages() {
  // A message has left; where it takes time, it has also arrived.
  lines.addEvents(getNumMessages());
  arrivals = costs.transfers == TransferMode::Overlapped
                 ? lines.addEvents(getNumMessages())
                 : 0;
  for (int64_t stage = 0; stage < pipeline.stages; ++stage)
    lines.addLine();
  for (auto [stage, list] : llvm::enumerate(blocks)) {
    lines.reserve(stage, 3 * list.size(), list.size());
    for (const Block &block : list)
      addTask(stage, block.task);
  }
}

void PipelineLines::addTask(LineId line, const Task &task) {
  if (std::optional<Task> producer = getProducer(pipeline, task))
    lines.addWait(line, arrivals + getMessage(*producer));
  lines.addWork(line, getTime(task));
  std::optional<Task> reader = getReader(pipeline, task);
  if (!reader)
    return;
  int32_t message = getMessage(task);
  lines.addRecord(line, message);
  if (costs.transfers != TransferMode::Overlapped)
    return;
  LineId link = getLink(line, pipeline.stageOfChunk[reader->chunk]);
  lines.addWait(link, message);
  lines.addWork(link, costs.transferTime);
  lines.addRecord(link, arrivals + message);
}

LineId PipelineLines::getLink(int64_t from, int64_t to) {
  auto [link, isNew] = links.try_emplace({from, to}, 0);
  if (isNew)
    link->second = lines.addLine();
  return link->second;
}

void PipelineLines::setTimes(LineId stage, const Timeline &timeline) {
  // Between blocks are items that only tell and wait.
  bool isItem = costs.transfers == TransferMode::Blocking;
  int32_t index = 0;
  for (Block &block : blocks[stage]) {
    while (!isItem && lines.getKind({stage, index}) != ItemKind::Work)
      ++index;
    block.start = timeline.getStart({stage, index});
    block.end = timeline.getEnd(ItemId{stage, index});
    // A transfer begins when both stages have come to it.
    if (block.kind != BlockKind::Compute)
      block.start = block.end - costs.transferTime;
    ++index;
  }
}

std::string PipelineLines::getName(ItemId item) const {
  std::string stage = (" on stage " + Twine(item.line)).str();
  if (costs.transfers != TransferMode::Blocking)
    return ("item " + Twine(item.index) + stage).str();
  const Block &block = blocks[item.line][item.index];
  std::string task = pipeline.getName(block.task);
  switch (block.kind) {
  case BlockKind::Compute:
    return task + stage;
  case BlockKind::Send:
    return "the send after " + task + stage;
  case BlockKind::Receive:
    return "the receive before " + task + stage;
  }
  llvm_unreachable("covers all kinds");
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

double sum(llvm::ArrayRef<double> numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

Bubbles getBubbles(const Schedule &schedule, const PipelineCosts &costs,
                   double end) {
  const Pipeline &pipeline = schedule.pipeline;
  double stages = pipeline.stages, microBatches = pipeline.microBatches;
  double work = microBatches * sum(costs.forward) * (1 + costs.backwardRatio);
  if (work == 0)
    return {};
  Bubbles bubbles;
  bubbles.real = (stages * end - work) / work;
  bubbles.ideal =
      (stages - 1) / (pipeline.getNumChunks() / stages * microBatches *
                      static_cast<double>(pipeline.pieces));
  bubbles.imbalance = bubbles.real - bubbles.ideal;
  if (costs.transfers == TransferMode::Blocking)
    if (std::optional<double> time = getBlockingTransferTime(schedule)) {
      bubbles.communication = stages * *time * costs.transferTime / work;
      bubbles.imbalance -= *bubbles.communication;
    }
  if (double recompute = sum(costs.recompute); recompute > 0) {
    bubbles.recompute = microBatches * recompute / work;
    bubbles.imbalance -= *bubbles.recompute;
  }
  return bubbles;
}

/// Adds the memory of a stage.
void addMemory(const Schedule &schedule, const PipelineCosts &costs,
               int64_t stage, PipelineTimeline &timeline) {
  double base = costs.constantMemory + getOrZero(costs.parameterMemory, stage);
  double held = 0, peak = 0;
  if (!costs.activationMemory.empty()) {
    Phase last =
        schedule.splitsBackward ? Phase::WeightGradient : Phase::Backward;
    for (const Task &task : schedule.stages[stage]) {
      double activation = costs.activationMemory[task.chunk] /
                          static_cast<double>(schedule.pipeline.pieces);
      if (task.phase == Phase::Forward)
        peak = std::max(peak, held += activation);
      else if (task.phase == last)
        held -= activation;
    }
  }
  timeline.peakMemory.push_back(base + peak);
  timeline.finalMemory.push_back(base + held);
}

} // namespace

Expected<PipelineTimeline> simulatePipeline(const Schedule &schedule,
                                            const PipelineCosts &costs) {
  if (Error error = costs.check(schedule.pipeline))
    return error;
  Expected<std::vector<std::vector<Block>>> blocks =
      PipelineLines(schedule, costs).run();
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
    addMemory(schedule, costs, stage, timeline);
  }
  timeline.bubbles = getBubbles(schedule, costs, timeline.end);
  return timeline;
}

} // namespace mf::sim
