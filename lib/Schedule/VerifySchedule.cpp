//===- VerifySchedule.cpp - Whether the stages can run a schedule ---------===//

#include "StageOrder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using llvm::createStringError;
using llvm::Error;
using llvm::Twine;

namespace mf::schedule {

namespace {

/// That every task is there once, and on the stage of its chunk.
Error verifyTasks(const Schedule &schedule) {
  const Pipeline &pipeline = schedule.pipeline;
  TaskNumbers numbers(pipeline, schedule.splitsBackward);
  std::vector<int64_t> positions(numbers.size(), -1);
  for (size_t stage = 0; stage < schedule.stages.size(); ++stage) {
    const std::vector<Task> &tasks = schedule.stages[stage];
    for (size_t position = 0; position < tasks.size(); ++position) {
      const Task &task = tasks[position];
      std::string where = "task " + std::to_string(position) + " of stage " +
                          std::to_string(stage) + " is " +
                          pipeline.getName(task);
      if (!numbers.isKnown(task))
        return createStringError(
            where + " of chunk " + Twine(task.chunk) + ", expected tasks of " +
            (schedule.splitsBackward ? "phases F, I, W" : "phases F, B") +
            ", chunks 0 to " + Twine(pipeline.getNumChunks() - 1) +
            " and micro-batches 0 to " + Twine(pipeline.microBatches - 1));
      int64_t owner = pipeline.stageOfChunk[task.chunk];
      if (owner != static_cast<int64_t>(stage))
        return createStringError(where + " of chunk " + Twine(task.chunk) +
                                 ", expected on stage " + Twine(owner) +
                                 ", where that chunk is");
      int64_t &known = positions[numbers.getNumber(task)];
      if (known >= 0)
        return createStringError(where + ", and so is task " + Twine(known) +
                                 ", expected one");
      known = position;
    }
  }
  auto missing = llvm::find(positions, -1);
  if (missing == positions.end())
    return Error::success();
  Task task = numbers.getTask(missing - positions.begin());
  return createStringError("stage " + Twine(pipeline.stageOfChunk[task.chunk]) +
                           " does not run " + pipeline.getName(task) +
                           " of chunk " + Twine(task.chunk) +
                           ", expected every task once");
}

/// What a stage must run before a task, whatever the other stages do, and why.
llvm::SmallVector<std::pair<Task, const char *>, 2>
getEarlierTasks(const Task &task) {
  llvm::SmallVector<std::pair<Task, const char *>, 2> earlier;
  if (task.phase == Phase::Forward)
    return earlier;
  if (task.phase == Phase::WeightGradient)
    earlier.push_back({{Phase::InputGradient, task.chunk, task.microBatch},
                       "the input gradient first"});
  else
    earlier.push_back(
        {{Phase::Forward, task.chunk, task.microBatch}, "the forward first"});
  if (task.microBatch > 0)
    earlier.push_back({{task.phase, task.chunk, task.microBatch - 1},
                       "gradients of a chunk in ascending order of "
                       "micro-batches"});
  return earlier;
}

Error verifyOrderOnStages(const Schedule &schedule, const StageOrder &order) {
  for (const std::vector<Task> &tasks : schedule.stages)
    for (const Task &task : tasks)
      for (auto [earlier, expected] : getEarlierTasks(task))
        if (order.getPosition(earlier) > order.getPosition(task))
          return createStringError(order.describe(task) + " runs before " +
                                   order.describe(earlier) + ", expected " +
                                   expected);
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
  StageOrder order(*this);
  if (Error error = verifyOrderOnStages(*this, order))
    return error;
  WaitGraph graph(order.getNumbers().size());
  order.addEdges(graph, [](const Task &, const Task &) { return true; });
  graph.index();
  std::vector<int64_t> cycle = graph.findCycle();
  if (cycle.empty())
    return Error::success();
  return createStringError(
      "deadlock: " +
      order.describeCycle(cycle, [](int64_t) { return std::string(); }));
}

} // namespace mf::schedule
