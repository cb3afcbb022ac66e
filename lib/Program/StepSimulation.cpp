//===- StepSimulation.cpp - A lowered step in time ------------------------===//
//
// Each stream of each stage is a line. All ranks of a stage run the same
// program at the same time, so one stands for all (ProgressVerifier.cpp).
//
//===----------------------------------------------------------------------===//

#include "mf/Program/StepSimulation.h"
#include "mf/Program/Description.h"
#include "mf/Program/StepWalker.h"
#include "mf/Program/LocatedError.h"
#include "mf/Program/StepTasks.h"
#include "mf/Sim/Lines.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cmath>
#include <map>

using llvm::Error;
using llvm::Expected;

namespace mf::program {

using schedule::Phase;

namespace {

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

/// A task, and when it computes.
struct TaskCall : StepTask {
  /// Time of its kernels.
  double busy = 0;
  /// The first and the last of them. A call without kernels that take time has
  /// an item that takes none.
  std::optional<sim::ItemId> first, last;
};

/// Floating-point operations of a call.
int64_t getFlops(const Program &program, const StageProgram &stage,
                 uint32_t position) {
  const Call &call = *stage.step.getCall(stage.step.instructions[position]);
  int64_t flops = 0;
  for (const Instruction &instruction :
       stage.routines[call.routine].body.instructions)
    if (instruction.work == Work::Kernel)
      flops += program.kernels[instruction.index].flops;
  return flops;
}

//===----------------------------------------------------------------------===//
// Lines
//===----------------------------------------------------------------------===//

class StepLines {
public:
  StepLines(const Program &program, const StepCosts &costs)
      : program(program), costs(costs) {}

  Expected<SimulatedStep> run();

private:
  /// What an item stands for.
  struct Origin {
    size_t stage = 0;
    uint32_t position = 0;
    uint32_t instruction = 0;
  };

  Error readTasks();
  void addStage(size_t number);
  void addInstruction(const Origin &origin, const Scope &scope,
                      const Instruction &instruction);
  void addKernel(const Origin &origin, sim::LineId line, TaskCall *task,
                 double duration);
  void addExchange(const Origin &origin, sim::LineId line,
                   const Exchange &exchange);
  /// Notes what was added, in step with the items of the line.
  sim::ItemId add(const Origin &origin, sim::ItemId item) {
    origins[item.line].push_back(origin);
    return item;
  }
  Error locate(const sim::DeadlockError &deadlock) const;
  std::string describeItem(sim::ItemId item) const;

  void numberChunks(const sim::Timeline &times, SimulatedStep &result);
  int64_t countRuns() const;
  void addTimes(const sim::Timeline &times, SimulatedStep &result);

  const Program &program;
  StepCosts costs;
  sim::Lines lines;
  /// By line and item.
  std::vector<std::vector<Origin>> origins;
  /// By stage: its first line, its first event, and its tasks in order.
  std::vector<sim::LineId> firstLines;
  std::vector<sim::EventId> firstEvents;
  std::vector<std::vector<TaskCall>> tasks;
  /// The task that is being added, of the stage that is.
  std::vector<TaskCall>::iterator nextTask;
  /// The rendezvous of each channel, and how many each side of a stage has come
  /// to.
  std::map<std::pair<uint32_t, uint32_t>, sim::GroupId> groups;
  std::map<std::tuple<size_t, uint32_t, bool>, uint32_t> numExchanges;
  /// By stage and layout, the chunk.
  std::map<std::pair<size_t, uint32_t>, int32_t> chunks;
};

/// Also finds the unit of time.
Error StepLines::readTasks() {
  int64_t longest = 0;
  for (const StageProgram &stage : program.stages) {
    Expected<std::vector<StepTask>> found = findTasks(stage);
    if (!found)
      return found.takeError();
    std::vector<TaskCall> &ofStage = tasks.emplace_back();
    for (const StepTask &task : *found) {
      if (task.phase == Phase::Forward)
        longest = std::max(longest, getFlops(program, stage, task.position));
      static_cast<StepTask &>(ofStage.emplace_back()) = task;
    }
  }
  if (costs.flopsPerUnit == 0)
    costs.flopsPerUnit = static_cast<double>(std::max<int64_t>(longest, 1));
  return Error::success();
}

void StepLines::addStage(size_t number) {
  const StageProgram &stage = program.stages[number];
  uint32_t numEvents = stage.step.numEvents;
  for (const Call &call : stage.step.calls)
    numEvents += stage.routines[call.routine].body.numEvents;
  firstEvents.push_back(lines.addEvents(static_cast<int32_t>(numEvents)));
  firstLines.push_back(lines.getNumLines());
  for (size_t stream = 0; stream < stage.streams.size(); ++stream)
    lines.addLine();
  origins.resize(lines.getNumLines());
  nextTask = tasks[number].begin();
  const InstanceTable table(stage);
  StepWalker(stage, table)
      .walk([&](const Scope &scope, const Instruction &instruction,
                uint32_t index) {
        Origin origin;
        origin.stage = number;
        origin.position = scope.call ? scope.callPosition : index;
        origin.instruction = scope.call ? index : callItself;
        addInstruction(origin, scope, instruction);
        return true;
      });
}

void StepLines::addInstruction(const Origin &origin, const Scope &scope,
                               const Instruction &instruction) {
  sim::LineId line =
      firstLines[origin.stage] + static_cast<int32_t>(instruction.stream);
  auto getEvent = [&](uint64_t event) {
    return firstEvents[origin.stage] + static_cast<sim::EventId>(event);
  };
  std::vector<TaskCall> &ofStage = tasks[origin.stage];
  while (nextTask != ofStage.end() && nextTask->position < origin.position)
    ++nextTask;
  TaskCall *task =
      nextTask != ofStage.end() && nextTask->position == origin.position
          ? &*nextTask
          : nullptr;
  for (const AwaitedEvent &awaited : instruction.awaited)
    add(origin,
        lines.addWait(line, getEvent(StepWalker::getEvent(scope, awaited))));
  if (instruction.work == Work::Kernel)
    addKernel(origin, line, task,
              static_cast<double>(program.kernels[instruction.index].flops) /
                  costs.flopsPerUnit);
  else if (instruction.work == Work::Call)
    addKernel(origin, line, task, 0);
  else if (const Exchange *exchange = scope.list->getExchange(instruction))
    addExchange(origin, line, *exchange);
  if (instruction.recorded)
    add(origin, lines.addRecord(
                    line, getEvent(scope.firstEvent + *instruction.recorded)));
}

void StepLines::addKernel(const Origin &origin, sim::LineId line,
                          TaskCall *task, double duration) {
  sim::ItemId item = add(origin, lines.addWork(line, duration));
  if (!task)
    return;
  // Before its first kernel a task may wait for what it reads.
  if (task->busy == 0)
    task->first = item;
  if (duration > 0 || !task->last)
    task->last = item;
  task->busy += duration;
}

void StepLines::addExchange(const Origin &origin, sim::LineId line,
                            const Exchange &exchange) {
  uint32_t number =
      numExchanges[{origin.stage, exchange.channel, exchange.isSend}]++;
  auto [group, isNew] = groups.try_emplace({exchange.channel, number}, 0);
  if (isNew) {
    const Channel &channel = program.channels[exchange.channel];
    bool isMessage = channel.isTransfer && channel.fromStage != channel.toStage;
    group->second = lines.addGroup(isMessage ? costs.transferTime : 0);
  }
  add(origin, lines.addRendezvous(line, group->second));
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

std::string StepLines::describeItem(sim::ItemId item) const {
  const Origin &origin = origins[item.line][item.index];
  return "stage " + std::to_string(origin.stage) + ": " +
         describe(program, program.stages[origin.stage], origin.position,
                  origin.instruction);
}

Error StepLines::locate(const sim::DeadlockError &deadlock) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  deadlock.log(os);
  const Origin &origin = [&] {
    sim::ItemId item = deadlock.getItems().front();
    return origins[item.line][item.index];
  }();
  const StageProgram &stage = program.stages[origin.stage];
  return llvm::make_error<LocatedError>(
      getInstruction(stage, origin.position, origin.instruction).location,
      text);
}

/// Chunks in the order in which their first forwards start.
void StepLines::numberChunks(const sim::Timeline &times,
                             SimulatedStep &result) {
  struct FirstForward {
    double start, end;
    std::pair<size_t, uint32_t> chunk;
    bool operator<(const FirstForward &other) const {
      return std::tie(start, end, chunk) <
             std::tie(other.start, other.end, other.chunk);
    }
  };
  std::map<std::pair<size_t, uint32_t>, const TaskCall *> first;
  for (auto [stage, ofStage] : llvm::enumerate(tasks))
    for (const TaskCall &task : ofStage) {
      const TaskCall *&known = first[{stage, task.layout}];
      if (task.phase == Phase::Forward &&
          (!known || task.microBatch < known->microBatch))
        known = &task;
    }
  std::vector<FirstForward> forwards;
  for (auto [chunk, task] : first)
    forwards.push_back(
        {times.getStart(*task->first), times.getEnd(*task->last), chunk});
  llvm::sort(forwards);
  result.pipeline.stageOfChunk.clear();
  for (const FirstForward &forward : forwards) {
    chunks[forward.chunk] = static_cast<int32_t>(chunks.size());
    result.pipeline.stageOfChunk.push_back(
        static_cast<int64_t>(forward.chunk.first));
  }
}

/// Of each chunk; a run may have several of the step's micro-batches.
int64_t StepLines::countRuns() const {
  int64_t runs = 1;
  for (const auto &ofStage : tasks)
    for (const TaskCall &task : ofStage)
      runs = std::max<int64_t>(runs, task.microBatch + 1);
  return runs;
}

void StepLines::addTimes(const sim::Timeline &times, SimulatedStep &result) {
  sim::PipelineTimeline &timeline = result.timeline;
  double work = 0;
  for (auto [stage, ofStage] : llvm::enumerate(tasks)) {
    std::vector<sim::Block> &blocks = timeline.stages.emplace_back();
    double &busy = result.busy.emplace_back(0);
    for (const TaskCall &task : ofStage) {
      sim::Block block;
      block.task = {task.phase, chunks.at({stage, task.layout}),
                    static_cast<int32_t>(task.microBatch)};
      block.start = times.getStart(*task.first);
      block.end = times.getEnd(*task.last);
      blocks.push_back(block);
      busy += task.busy;
    }
    work += busy;
    timeline.stageEnds.push_back(blocks.empty() ? 0 : blocks.back().end);
    timeline.end = std::max(timeline.end, timeline.stageEnds.back());
  }
  if (work == 0)
    return;
  auto stages = static_cast<double>(program.stages.size());
  sim::Bubbles &bubbles = timeline.bubbles;
  bubbles.real = (stages * timeline.end - work) / work;
  bubbles.ideal =
      (stages - 1) * stages / static_cast<double>(chunks.size() * countRuns());
  bubbles.imbalance = bubbles.real - bubbles.ideal;
}

Expected<SimulatedStep> StepLines::run() {
  if (Error error = readTasks())
    return error;
  for (size_t stage = 0; stage < program.stages.size(); ++stage)
    addStage(stage);
  Expected<sim::Timeline> times = sim::simulate(
      lines, [&](sim::ItemId item) { return describeItem(item); });
  if (!times)
    return llvm::handleErrors(
        times.takeError(),
        [&](const sim::DeadlockError &deadlock) { return locate(deadlock); });
  SimulatedStep result;
  result.flopsPerUnit = costs.flopsPerUnit;
  result.pipeline.stages = static_cast<int64_t>(program.stages.size());
  result.pipeline.microBatches = countRuns();
  numberChunks(*times, result);
  addTimes(*times, result);
  return result;
}

} // namespace

Error StepCosts::check() const {
  for (auto [what, number] : {std::pair("FLOPs per unit", flopsPerUnit),
                              std::pair("transfer time", transferTime)})
    if (!std::isfinite(number) || number < 0)
      return llvm::createStringError(llvm::formatv(
          "{0} is {1}, expected a finite number from 0", what, number));
  return Error::success();
}

Expected<SimulatedStep> simulateStep(const Program &program,
                                     const StepCosts &costs) {
  if (Error error = costs.check())
    return error;
  return StepLines(program, costs).run();
}

} // namespace mf::program
