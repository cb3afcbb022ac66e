//===- VerifySchedule.cpp - Verifies that stages can run a schedule -------===//
// SPDX-License-Identifier: Apache-2.0

#include "ErrorBuilder.h"
#include "llvm/ADT/STLExtras.h"

using llvm::createStringError;
using llvm::Error;
using llvm::Twine;

namespace mf::schedule {

namespace {

Error reportMissing(const Pipeline &pipeline, const Task &task) {
  return createStringError("stage " + Twine(pipeline.stageOfChunk[task.chunk]) +
                           " does not run " + pipeline.getName(task) +
                           " of chunk " + Twine(task.chunk) +
                           ", expected every task once");
}

/// Verifies that every task occurs once, and on the stage of its chunk.
Error verifyTasks(const Schedule &schedule) {
  const Pipeline &pipeline = schedule.pipeline;
  TaskGraph graph(pipeline, schedule.splitsBackward);
  std::vector<int64_t> positions(graph.getNumTasks(), -1);
  for (size_t stage = 0; stage < schedule.stages.size(); ++stage) {
    const std::vector<Task> &tasks = schedule.stages[stage];
    for (size_t position = 0; position < tasks.size(); ++position) {
      const Task &task = tasks[position];
      TaskPlace place{static_cast<int64_t>(stage),
                      static_cast<int64_t>(position)};
      auto isWrong = [&](const Twine &problem, std::vector<TaskPlace> places) {
        return llvm::make_error<ScheduleError>(
            ("task " + Twine(position) + " of stage " + Twine(stage) + " is " +
             pipeline.getName(task) + problem)
                .str(),
            std::move(places));
      };
      if (!graph.isKnown(task))
        return isWrong(
            " of chunk " + Twine(task.chunk) + ", expected tasks of " +
                (schedule.splitsBackward ? "phases F, I, W" : "phases F, B") +
                (pipeline.recomputed.empty() ? "" : ", R") + ", chunks 0 to " +
                Twine(pipeline.getNumChunks() - 1) +
                " and micro-batches 0 to " + Twine(pipeline.microBatches - 1) +
                (pipeline.pieces > 1
                     ? ", each of pieces 0 to " + Twine(pipeline.pieces - 1)
                     : Twine()),
            {place});
      int64_t owner = pipeline.stageOfChunk[task.chunk];
      if (owner != place.stage)
        return isWrong(" of chunk " + Twine(task.chunk) +
                           ", expected on stage " + Twine(owner) +
                           ", where that chunk is",
                       {place});
      int64_t &known = positions[graph.getNumber(task)];
      if (known >= 0)
        return isWrong(", and so is task " + Twine(known) + ", expected one",
                       {place, {place.stage, known}});
      known = static_cast<int64_t>(position);
    }
  }
  for (auto [number, position] : llvm::enumerate(positions)) {
    const Task task = graph.getTask(static_cast<int64_t>(number));
    if (position < 0 && graph.isKnown(task))
      return reportMissing(pipeline, task);
  }
  return Error::success();
}

/// Returns the tasks that a stage must run before a task, regardless of other
/// stages, with the reasons.
llvm::SmallVector<std::pair<Task, const char *>, 3>
getEarlierTasks(const Pipeline &pipeline, const Task &task) {
  llvm::SmallVector<std::pair<Task, const char *>, 3> earlier;
  if (task.phase == Phase::Forward) {
    if (task.piece > 0)
      earlier.push_back(
          {{Phase::Forward, task.chunk, task.microBatch, task.piece - 1},
           "pieces of a sequence in order"});
    return earlier;
  }
  bool isWeight = task.phase == Phase::WeightGradient;
  earlier.push_back(
      {{isWeight ? Phase::InputGradient : Phase::Forward, task.chunk,
        task.microBatch, task.piece},
       isWeight ? "the input gradient first" : "the forward first"});
  const Task recompute{Phase::Recompute, task.chunk, task.microBatch,
                       task.piece};
  if (task.phase != Phase::Recompute && !isWeight && pipeline.runs(recompute))
    earlier.push_back({recompute, "the recompute first"});
  if (std::optional<Task> gradient = getEarlierGradient(pipeline, task))
    earlier.push_back(
        {*gradient,
         gradient->microBatch == task.microBatch
             ? "gradients of a sequence from its last piece to its first"
             : "gradients of a chunk in ascending order of micro-batches"});
  return earlier;
}

Error verifyOrderOnStages(const Schedule &schedule, const TaskGraph &graph) {
  for (const std::vector<Task> &tasks : schedule.stages)
    for (const Task &task : tasks)
      for (auto [earlier, expected] : getEarlierTasks(schedule.pipeline, task))
        if (graph.getPosition(earlier) > graph.getPosition(task))
          return ErrorBuilder(graph) << task << " runs before " << earlier
                                     << ", expected " << expected;
  return Error::success();
}

/// Returns whether a task may share the slot of a forward, right after
/// `before`.
bool mayJoin(const Task &forward, const Task &before, const Task &task) {
  const bool isOther = task.chunk != forward.chunk ||
                       task.microBatch != forward.microBatch ||
                       task.piece != forward.piece;
  if (task.phase == Phase::Forward || task.phase == Phase::Recompute ||
      !isOther)
    return false;
  // The slot may contain both halves of a backward.
  Task input = task;
  input.phase = Phase::InputGradient;
  return before == forward ||
         (task.phase == Phase::WeightGradient && before == input);
}

/// Checks that every task has a mark, and that the last task of a stage is not
/// paired with a next one.
Error checkMarks(const Schedule &schedule) {
  if (schedule.pairs.empty())
    return Error::success();
  for (auto [stage, tasks] : llvm::enumerate(schedule.stages))
    if (stage >= schedule.pairs.size() ||
        schedule.pairs[stage].size() != tasks.size() ||
        (!tasks.empty() && schedule.pairs[stage].back()))
      return createStringError(
          "the slots of stage " + Twine(stage) + " are not those of its " +
          Twine(tasks.size()) +
          " tasks, expected a mark for each, and none for the last");
  return Error::success();
}

/// Verifies that slots have a forward and then a backward of another run.
Error verifySlots(const Schedule &schedule, const TaskGraph &graph) {
  if (schedule.pairs.empty())
    return Error::success();
  for (auto [number, tasks] : llvm::enumerate(schedule.stages)) {
    const auto stage = static_cast<int64_t>(number);
    for (size_t position = 1; position < tasks.size(); ++position) {
      const auto before = static_cast<int64_t>(position) - 1;
      if (!schedule.isPairedWithNext(stage, before))
        continue;
      const Task &first = tasks[schedule.getSlotBegin(stage, before)];
      if (first.phase != Phase::Forward ||
          !mayJoin(first, tasks[position - 1], tasks[position]))
        return ErrorBuilder(graph)
               << tasks[position] << " shares the slot of " << first
               << ", expected a forward and then a backward of another "
                  "micro-batch or chunk, or its halves";
    }
  }
  return Error::success();
}

} // namespace

Error Schedule::verify() const {
  if (Error error = pipeline.check())
    return error;
  if (static_cast<int64_t>(stages.size()) != pipeline.stages)
    return createStringError("a schedule of " + Twine(stages.size()) +
                             " stages for a pipeline of " +
                             Twine(pipeline.stages));
  if (Error error = verifyTasks(*this))
    return error;
  if (Error error = checkMarks(*this))
    return error;
  TaskGraph graph(*this, TaskGraph::InputEdges::All);
  if (Error error = verifyOrderOnStages(*this, graph))
    return error;
  if (Error error = verifySlots(*this, graph))
    return error;
  std::vector<int64_t> cycle = graph.findCycle();
  if (cycle.empty())
    return Error::success();
  return (ErrorBuilder(graph) << "deadlock: ").addCycle(std::move(cycle));
}

} // namespace mf::schedule
