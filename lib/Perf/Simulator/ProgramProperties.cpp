//===- ProgramProperties.cpp - Properties of a program in timelines
//---------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/Simulator/ProgramProperties.h"
#include "mf/Program/Liveness.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include <algorithm>

namespace mf::simulator {

using namespace program;
using timeline::StageTimeline;
using timeline::StepTimeline;

/// Calls `visit` with the cell of each kernel of the cube and its FLOPs, with
/// attention in full, as published utilizations count them.
static void
visitFlops(const Program &program, const InstructionList &list,
           llvm::function_ref<void(llvm::StringRef, int64_t)> visit) {
  for (const Instruction &instruction : list.instructions) {
    if (instruction.work != Work::Kernel)
      continue;
    const LaunchedKernel &kernel = program.kernels[instruction.index];
    if (kernel.signature->engine == Engine::Cube)
      visit(
          instruction.cell,
          kernel.signature->getMeasure(kernel.spec, "full_flops").value_or(0));
  }
}

static int64_t countFlops(const Program &program, const InstructionList &list) {
  int64_t flops = 0;
  visitFlops(program, list,
             [&](llvm::StringRef, int64_t count) { flops += count; });
  return flops;
}

/// Counts the FLOPs of the model: those of forwards, and of the gradients that
/// backwards compute. A backward's launches of operators of forward are
/// recomputation. The gradients of a product of two operands take as much as
/// two products. Additional FLOPs of an operator's gradients (attention's
/// scores) are recomputation too.
static int64_t countModelFlops(const Program &program,
                               const StageProgram &stage,
                               llvm::ArrayRef<StepTask> tasks) {
  llvm::SmallVector<int64_t> forwardRuns(stage.routines.size(), 0),
      backwardRuns(stage.routines.size(), 0);
  for (const StepTask &task : tasks)
    for (uint32_t position : task.calls) {
      const uint32_t routine =
          stage.step.getCall(stage.step.instructions[position])->routine;
      ++(task.phase == schedule::Phase::Forward ? forwardRuns
                                                : backwardRuns)[routine];
    }
  int64_t flops = 0;
  llvm::StringMap<int64_t> ofForward, ofGradients;
  auto visitRuns = [&](llvm::ArrayRef<int64_t> runs, auto visit) {
    for (auto [routine, count] : llvm::zip_equal(stage.routines, runs))
      if (count > 0)
        visitFlops(program, routine.body,
                   [&, times = count](llvm::StringRef cell, int64_t ofKernel) {
                     visit(cell, times * ofKernel);
                   });
  };
  visitRuns(forwardRuns, [&](llvm::StringRef cell, int64_t count) {
    flops += count;
    ofForward[cell] += count;
  });
  visitRuns(backwardRuns, [&](llvm::StringRef cell, int64_t count) {
    if (!ofForward.contains(cell))
      ofGradients[cell] += count;
  });
  for (const auto &gradients : ofGradients) {
    llvm::StringRef cell = gradients.first();
    cell.consume_back(".grad");
    auto forward = ofForward.find(cell);
    flops += forward == ofForward.end()
                 ? gradients.second
                 : std::min(gradients.second, 2 * forward->second);
  }
  return flops;
}

static void addFlops(const Program &program, const StageProgram &stage,
                     llvm::ArrayRef<StepTask> tasks, StageTimeline &timeline) {
  std::vector<int64_t> ofRoutine;
  for (const Routine &routine : stage.routines)
    ofRoutine.push_back(countFlops(program, routine.body));
  timeline.hardwareFlops = countFlops(program, stage.step);
  for (const Call &call : stage.step.calls)
    timeline.hardwareFlops += ofRoutine[call.routine];
  timeline.modelFlops = countModelFlops(program, stage, tasks);
}

void addTasks(llvm::ArrayRef<StepTask> tasks, StageTimeline &timeline) {
  for (const StepTask &task : tasks)
    timeline.tasks.push_back({task.phase, static_cast<int32_t>(task.layout),
                              static_cast<int32_t>(task.microBatch), 0, 0});
}

void addStageProperties(const Program &program, const StageProgram &stage,
                        llvm::ArrayRef<StepTask> tasks,
                        StageTimeline &timeline) {
  timeline.peakBytes = stage.arenaBytes;
  timeline.hostBytes = stage.hostBytes;
  timeline.limitBytes = stage.hbmLimitBytes.value_or(0);
  addFlops(program, stage, tasks, timeline);
}

void addPeakContents(const StageProgram &stage, StageTimeline &timeline) {
  const MemoryUse peak = findPeak(computeLifetimes(stage), Space::Device);
  for (size_t i = 0; i < numCategories; ++i)
    timeline.bytesByCategory[getName(static_cast<program::BufferCategory>(i))
                                 .str()] = peak.byCategory[i];
  // The rest of the arena lies between buffers, or is only used when other
  // buffers are at their peak.
  timeline.bytesByCategory["fragmentation"] = stage.arenaBytes - peak.bytes;
}

void MessageTable::add(const Exchange &exchange, timeline::SpanId span) {
  const Channel &channel = program.channels[exchange.channel];
  if (channel.isTransfer && channel.fromStage != channel.toStage)
    spans[exchange.channel][exchange.isSend ? 0 : 1].push_back(span);
}

std::vector<timeline::Flow> MessageTable::getFlows() const {
  std::vector<timeline::Flow> flows;
  for (const auto &[channel, sides] : spans)
    for (auto [from, to] : llvm::zip(sides[0], sides[1]))
      flows.push_back({from, to});
  return flows;
}

/// Counts the tokens of all micro-batches and ranks, by the sizes of the
/// tensors that the host provides to the stage that reads tokens.
static int64_t countTokens(const Program &program) {
  for (const StageProgram &stage : program.stages) {
    int64_t tokens = 0;
    for (const Static &buffer : stage.statics) {
      if (buffer.role != Role::Tokens || buffer.space != Space::Host)
        continue;
      TensorShape whole = buffer.shape;
      if (buffer.slice)
        whole.dims = buffer.slice->dims;
      tokens += whole.getNumElements();
    }
    if (tokens > 0)
      return tokens;
  }
  return program.microBatches * program.microBatchSize * program.sequenceLength;
}

/// Numbers chunks in the order in which their first forwards start.
static void numberChunks(StepTimeline &timeline) {
  using Chunk = std::pair<size_t, int32_t>;
  std::map<Chunk, double> starts;
  for (auto [number, stage] : llvm::enumerate(timeline.stages))
    for (const timeline::TaskSpan &task : stage.tasks) {
      auto [known, isNew] =
          starts.try_emplace({number, task.chunk}, task.start);
      known->second = std::min(known->second, task.start);
    }
  std::vector<std::pair<double, Chunk>> order;
  for (const auto &[chunk, start] : starts)
    order.emplace_back(start, chunk);
  llvm::sort(order);
  std::map<Chunk, int32_t> numbers;
  for (const auto &[start, chunk] : order)
    numbers[chunk] = static_cast<int32_t>(numbers.size());
  for (auto [number, stage] : llvm::enumerate(timeline.stages))
    for (timeline::TaskSpan &task : stage.tasks)
      task.chunk = numbers.at({number, task.chunk});
}

void addStepProperties(const Program &program, StepTimeline &timeline) {
  timeline.numRanks = program.getNumRanks();
  timeline.microBatches = program.microBatches;
  timeline.tokens = countTokens(program);
  numberChunks(timeline);
}

} // namespace mf::simulator
