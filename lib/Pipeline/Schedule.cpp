//===- Schedule.cpp - Order of the tasks of a pipeline --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Pipeline/StepOrder.h"
#include "mf/Pipeline/TaskGraph.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include <algorithm>
#include <numeric>

using llvm::Twine;

namespace mf::schedule {

/// This limit is far above real steps, and such schedules easily fit in memory.
static constexpr int64_t maxRuns = 10'000'000;

char getLetter(Phase phase) { return "FBIWR"[static_cast<int>(phase)]; }

int64_t getUnitTime(Phase phase) { return phase == Phase::Backward ? 2 : 1; }

void Pipeline::addRecompute(int64_t chunk) {
  recomputed.resize(getNumChunks() * microBatches, false);
  auto first = recomputed.begin() + chunk * microBatches;
  std::fill(first, first + microBatches, true);
}

std::vector<std::vector<int32_t>> Pipeline::getChunksOfStages() const {
  std::vector<std::vector<int32_t>> chunks(stages);
  for (int64_t chunk = 0; chunk < getNumChunks(); ++chunk)
    chunks[stageOfChunk[chunk]].push_back(static_cast<int32_t>(chunk));
  return chunks;
}

llvm::Error Pipeline::check() const {
  if (stages < 1)
    return llvm::createStringError("a pipeline of " + Twine(stages) +
                                   " stages, expected at least 1");
  if (microBatches < 1)
    return llvm::createStringError("a pipeline for " + Twine(microBatches) +
                                   " micro-batches, expected at least 1");
  if (pieces < 1)
    return llvm::createStringError("a pipeline for " + Twine(pieces) +
                                   " pieces of a sequence, expected at least "
                                   "1");
  if (getNumChunks() < stages)
    return llvm::createStringError(
        Twine(getNumChunks()) + " chunks for " + Twine(stages) +
        " stages, expected at least one for each stage");
  if (microBatches > maxRuns / getNumChunks() / pieces)
    return llvm::createStringError(
        Twine(getNumChunks()) + " chunks for " + Twine(microBatches) +
        " micro-batches" +
        (pieces > 1 ? " of " + Twine(pieces) + " pieces" : Twine()) +
        ", expected at most " + Twine(maxRuns) +
        " pairs of chunk and micro-batch");
  if (firstTrained < 0 || firstTrained >= getNumChunks())
    return llvm::createStringError(
        "backwards end with chunk " + Twine(firstTrained) +
        ", expected one of the chunks 0 to " + Twine(getNumChunks() - 1));
  if (!recomputed.empty() &&
      static_cast<int64_t>(recomputed.size()) != getNumChunks() * microBatches)
    return llvm::createStringError(
        "a choice of recompute for " + Twine(recomputed.size()) +
        " pairs of chunk and micro-batch, expected " +
        Twine(getNumChunks() * microBatches) + ", or none");
  std::vector<bool> hasChunk(stages, false);
  for (int64_t chunk = 0; chunk < getNumChunks(); ++chunk) {
    int64_t stage = stageOfChunk[chunk];
    if (stage < 0 || stage >= stages)
      return llvm::createStringError(
          "chunk " + Twine(chunk) + " is on stage " + Twine(stage) +
          ", expected one of the stages 0 to " + Twine(stages - 1));
    hasChunk[stage] = true;
  }
  auto empty = std::find(hasChunk.begin(), hasChunk.end(), false);
  if (empty != hasChunk.end())
    return llvm::createStringError("stage " + Twine(empty - hasChunk.begin()) +
                                   " has no chunk, expected at least one");
  return llvm::Error::success();
}

std::string Pipeline::getName(const Task &task) const {
  std::string name(1, getLetter(task.phase));
  if (getNumChunks() != stages)
    name += std::to_string(task.chunk) + ".";
  name += std::to_string(task.microBatch);
  return pieces > 1 ? name + "/" + std::to_string(task.piece) : name;
}

void Schedule::print(llvm::raw_ostream &os) const {
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    os << "stage " << stage << ":";
    for (auto [position, task] : llvm::enumerate(stages[stage])) {
      const auto place = static_cast<int64_t>(position);
      const bool isJoined =
          place > 0 && isPairedWithNext(static_cast<int64_t>(stage), place - 1);
      os << (isJoined ? "&" : " ") << pipeline.getName(task);
    }
    os << "\n";
  }
}

int64_t Schedule::getSlotEnd(int64_t stage, int64_t position) const {
  while (isPairedWithNext(stage, position))
    ++position;
  return position + 1;
}

int64_t Schedule::getSlotBegin(int64_t stage, int64_t position) const {
  while (position > 0 && isPairedWithNext(stage, position - 1))
    --position;
  return position;
}

/// Like the function for schedules without slots, but the tasks of a slot start
/// one after another when the slot does.
static std::vector<std::vector<int64_t>>
getStartsOfSlots(const Schedule &schedule) {
  const TaskGraph graph(schedule, TaskGraph::InputEdges::FromOtherStages);
  std::vector<int64_t> durations(graph.size(), 0);
  for (llvm::ArrayRef<Task> tasks : schedule.stages)
    for (const Task &task : tasks)
      durations[graph.getNode(task)] += getUnitTime(task.phase);
  const std::vector<int64_t> nodes =
      graph.getStarts<int64_t>(graph.getOrder(), durations);
  std::vector<std::vector<int64_t>> startsOfStages(schedule.stages.size());
  for (auto [stage, tasks] : llvm::enumerate(schedule.stages)) {
    int64_t end = 0;
    for (const Task &task : tasks) {
      const int64_t start = std::max(end, nodes[graph.getNode(task)]);
      startsOfStages[stage].push_back(start);
      end = start + getUnitTime(task.phase);
    }
  }
  return startsOfStages;
}

std::vector<std::vector<int64_t>> Schedule::getUnitStarts() const {
  if (!pairs.empty())
    return getStartsOfSlots(*this);
  const TaskGraph tasks(pipeline, splitsBackward);
  std::vector<int64_t> durations;
  for (int64_t chunk = 0; chunk < pipeline.getNumChunks(); ++chunk)
    for (Phase phase : tasks.getPhases())
      durations.push_back(getUnitTime(phase));
  const StepOrder order(*this);
  std::vector<int64_t> ends;
  order.findEnds<int64_t>(durations, 0, ends);
  std::vector<std::vector<int64_t>> startsOfStages(stages.size());
  for (auto [node, end] : llvm::zip_equal(order.getNodes(), ends))
    startsOfStages[node.stage].push_back(end - durations[node.work]);
  return startsOfStages;
}

double Schedule::getUnitBubble() const {
  std::vector<std::vector<int64_t>> starts = getUnitStarts();
  int64_t work = 0, end = 0;
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    for (const Task &task : stages[stage])
      work += getUnitTime(task.phase);
    end = std::max(end, starts[stage].back() +
                            getUnitTime(stages[stage].back().phase));
  }
  int64_t total = end * static_cast<int64_t>(stages.size());
  return static_cast<double>(total - work) / static_cast<double>(work);
}

void Schedule::visitInFlight(
    int64_t stage,
    llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit) const {
  std::vector<int32_t> chunks = pipeline.getChunksOfStages()[stage];
  std::vector<int64_t> held(chunks.size(), 0);
  visitActivations(stage, [&](const Task &task, bool isHeld) {
    held[llvm::find(chunks, task.chunk) - chunks.begin()] += isHeld ? 1 : -1;
    if (isHeld)
      visit(held);
  });
}

int64_t Schedule::getMaxInFlight(int64_t stage) const {
  int64_t most = 0;
  visitInFlight(stage, [&](llvm::ArrayRef<int64_t> held) {
    most = std::max(most, std::accumulate(held.begin(), held.end(), int64_t{}));
  });
  return most;
}

std::vector<int64_t> Schedule::getMaxInFlightOfChunks(int64_t stage) const {
  std::vector<int64_t> most(pipeline.getChunksOfStages()[stage].size(), 0);
  visitInFlight(stage, [&](llvm::ArrayRef<int64_t> held) {
    for (auto [ofChunk, count] : llvm::zip_equal(most, held))
      ofChunk = std::max(ofChunk, count);
  });
  return most;
}

} // namespace mf::schedule
