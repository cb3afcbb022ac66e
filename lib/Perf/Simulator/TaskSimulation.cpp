//===- TaskSimulation.cpp - A lowered step without a target ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/Simulator/TaskSimulation.h"
#include "StepQueues.h"
#include "StepSpans.h"
#include "mf/Perf/Simulator/ProgramProperties.h"
#include "mf/Program/Liveness.h"
#include "mf/Program/StepTasks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cmath>

using llvm::Error;
using llvm::Expected;

namespace mf::simulator {

using namespace program;
using schedule::Phase;
using timeline::StepTimeline;

namespace {

/// The tasks of each stage, and the FLOPs of their calls.
struct StageTasks {
  std::vector<StepTask> tasks;
  std::vector<int64_t> flops;
};

} // namespace

static Expected<std::vector<StageTasks>> readTasks(const Program &program) {
  std::vector<StageTasks> stages;
  for (const StageProgram &stage : program.stages) {
    Expected<std::vector<StepTask>> found = findTasks(stage);
    if (!found)
      return found.takeError();
    StageTasks &tasks = stages.emplace_back();
    tasks.tasks = std::move(*found);
    for (const StepTask &task : tasks.tasks) {
      int64_t &flops = tasks.flops.emplace_back(0);
      for (uint32_t position : task.calls) {
        const Call &call =
            *stage.step.getCall(stage.step.instructions[position]);
        for (const Instruction &instruction :
             stage.routines[call.routine].body.instructions)
          if (instruction.work == Work::Kernel)
            flops += program.kernels[instruction.index].flops;
      }
    }
  }
  return stages;
}

/// Returns the FLOPs of the longest forward.
static double findUnit(const std::vector<StageTasks> &stages) {
  int64_t longest = 1;
  for (const StageTasks &stage : stages)
    for (auto [task, flops] : llvm::zip_equal(stage.tasks, stage.flops))
      if (task.phase == Phase::Forward)
        longest = std::max(longest, flops);
  return static_cast<double>(longest);
}

/// Simulates the tasks and numbers their chunks.
static Expected<StepTimeline> runTasks(const Program &program,
                                       const std::vector<StageTasks> &stages,
                                       const StepCosts &costs) {
  // Units are not rounded, so that work of equal length ends at the same time.
  const StepQueues queues(program, costs, /*tick=*/0);
  Expected<events::Timeline> times = queues.simulate();
  if (!times)
    return times.takeError();
  const ActivityTable activities(program);
  SpanReader spans(program, queues, *times, costs, activities,
                   /*spanOfEachKernel=*/false);
  StepTimeline timeline;
  for (size_t stage = 0; stage < stages.size(); ++stage)
    spans.read(stage, stages[stage].tasks, timeline.stages.emplace_back());
  addStepProperties(program, timeline);
  return timeline;
}

/// Returns the number of runs of each chunk. A run may consist of several of
/// the step's micro-batches.
static int64_t countRuns(const std::vector<StageTasks> &stages) {
  int64_t runs = 1;
  for (const StageTasks &stage : stages)
    for (const StepTask &task : stage.tasks)
      runs = std::max<int64_t>(runs, task.microBatch + 1);
  return runs;
}

static void addChunks(const StepTimeline &timeline, SimulatedTasks &result) {
  result.pipeline.stageOfChunk.clear();
  for (auto [number, stage] : llvm::enumerate(timeline.stages))
    for (const timeline::TaskSpan &task : stage.tasks) {
      auto &stageOfChunk = result.pipeline.stageOfChunk;
      if (static_cast<size_t>(task.chunk) >= stageOfChunk.size())
        stageOfChunk.resize(task.chunk + 1);
      stageOfChunk[task.chunk] = static_cast<int64_t>(number);
    }
}

/// Sets the times of tasks that share a slot to those of the slot.
static void joinSlots(std::vector<events::Block> &blocks) {
  for (size_t first = 0, next = 0; first < blocks.size(); first = next) {
    double end = blocks[first].end;
    for (next = first + 1; next < blocks.size() && blocks[next].start < end;
         ++next)
      end = std::max(end, blocks[next].end);
    if (next == first + 1)
      continue;
    for (size_t task = first; task < next; ++task) {
      blocks[task].start = blocks[first].start;
      blocks[task].end = end;
    }
  }
}

static void addTimes(const StepTimeline &step,
                     const std::vector<StageTasks> &stages,
                     SimulatedTasks &result) {
  events::PipelineTimeline &timeline = result.timeline;
  double work = 0;
  for (auto [stage, tasks] : llvm::zip_equal(step.stages, stages)) {
    std::vector<events::Block> &blocks = timeline.stages.emplace_back();
    double &busy = result.busy.emplace_back(0);
    for (auto [task, flops] : llvm::zip_equal(stage.tasks, tasks.flops)) {
      events::Block block;
      block.task = {task.phase, task.chunk, task.microBatch};
      block.start = task.start;
      block.end = task.end;
      blocks.push_back(block);
      busy += static_cast<double>(flops) / result.flopsPerUnit;
    }
    work += busy;
    joinSlots(blocks);
    timeline.stageEnds.push_back(blocks.empty() ? 0 : blocks.back().end);
    timeline.end = std::max(timeline.end, timeline.stageEnds.back());
  }
  if (work == 0)
    return;
  const auto numStages = static_cast<double>(stages.size());
  events::Bubbles &bubbles = timeline.bubbles;
  bubbles.real = (numStages * timeline.end - work) / work;
  bubbles.ideal = (numStages - 1) * numStages /
                  static_cast<double>(result.pipeline.stageOfChunk.size() *
                                      countRuns(stages));
  bubbles.imbalance = bubbles.real - bubbles.ideal;
}

Error TaskCosts::check() const {
  for (auto [what, number] : {std::pair("FLOPs per unit", flopsPerUnit),
                              std::pair("transfer time", transferTime)})
    if (!std::isfinite(number) || number < 0)
      return llvm::createStringError(llvm::formatv(
          "{0} is {1}, expected a finite number from 0", what, number));
  return Error::success();
}

Expected<SimulatedTasks> simulateTasks(const Program &program,
                                       const TaskCosts &costs) {
  if (Error error = costs.check())
    return error;
  Expected<std::vector<StageTasks>> stages = readTasks(program);
  if (!stages)
    return stages.takeError();
  SimulatedTasks result;
  result.flopsPerUnit =
      costs.flopsPerUnit == 0 ? findUnit(*stages) : costs.flopsPerUnit;
  Expected<StepTimeline> timeline =
      runTasks(program, *stages,
               StepCosts::createOfFlops(program, result.flopsPerUnit,
                                        costs.transferTime));
  if (!timeline)
    return timeline.takeError();
  result.pipeline.stages = static_cast<int64_t>(program.stages.size());
  result.pipeline.microBatches = countRuns(*stages);
  addChunks(*timeline, result);
  addTimes(*timeline, *stages, result);
  return result;
}

/// Returns the most bytes of residuals on the device at one time.
static int64_t getActivationPeak(const StageProgram &stage) {
  std::vector<Lifetime> lifetimes = computeLifetimes(stage);
  llvm::erase_if(lifetimes, [](const Lifetime &lifetime) {
    return lifetime.category != BufferCategory::Activation;
  });
  return findPeak(lifetimes, Space::Device).bytes;
}

void printStepTasks(const Program &program, const SimulatedTasks &step,
                    llvm::raw_ostream &os) {
  const events::Bubbles &bubbles = step.timeline.bubbles;
  os << llvm::formatv("end {0:f2} of {1:f0} FLOPs\n", step.timeline.end,
                      step.flopsPerUnit);
  os << llvm::formatv("bubble {0:f4}: ideal {1:f4}, imbalance {2:f4}\n",
                      bubbles.real, bubbles.ideal, bubbles.imbalance);
  for (const StageProgram &stage : program.stages)
    os << llvm::formatv("stage {0}: busy {1:f2}, arena {2} bytes, activations "
                        "{3} bytes\n",
                        stage.stage, step.busy[stage.stage], stage.arenaBytes,
                        getActivationPeak(stage));
}

} // namespace mf::simulator
