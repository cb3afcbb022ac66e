//===- StepSimulator.cpp - A lowered step on a target ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/Simulator/StepSimulator.h"
#include "CriticalWork.h"
#include "StepQueues.h"
#include "StepSpans.h"
#include "mf/Perf/Simulator/MemoryCurve.h"
#include "mf/Perf/Simulator/ProgramFacts.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using llvm::Error;
using llvm::Expected;

namespace mf::simulator {

using namespace program;
using timeline::StageTimeline;
using timeline::StepTimeline;

/// The tick of the simulation, about a picosecond. Steps of up to two hours are
/// exact.
static constexpr double tick = 0x1p-40;

namespace {

/// The time of an instruction list's work in seconds, by kind. It is the same
/// in every call.
using ListWork = std::map<std::string, double>;

class StepSimulator {
public:
  StepSimulator(const Program &program, const target::Target &target,
                const SimulationOptions &options)
      : program(program), target(target), options(options) {}

  Expected<StepTimeline> run();

private:
  Error readStage(size_t number, const StepCosts &costs, SpanReader &spans);
  void readMemory(const StageProgram &stage, const SpanReader &spans,
                  StageTimeline &result) const;
  ListWork sumList(size_t stage, const InstructionList &list,
                   const StepCosts &costs) const;
  void readWork(size_t number, const StepCosts &costs,
                StageTimeline &result) const;
  void nameNetworks(const StepCosts &costs, ActivityTable &activities) const;
  void addFacts();

  const Program &program;
  const target::Target &target;
  SimulationOptions options;
  StepTimeline result;
};

} // namespace

void StepSimulator::readMemory(const StageProgram &stage,
                               const SpanReader &spans,
                               StageTimeline &result) const {
  result.limitBytes = stage.hbmLimitBytes.value_or(target.memory.bytes);
  if (!options.withSpans)
    return;
  // A page would not show more points.
  constexpr double shownPoints = 1e5;
  result.memory = computeMemoryCurve(
      stage,
      [&](uint32_t position, uint32_t instruction) {
        llvm::ArrayRef<double> starts = spans.getStarts(position);
        return instruction < starts.size() ? starts[instruction] : 0;
      },
      result.end / shownPoints);
}

ListWork StepSimulator::sumList(size_t stage, const InstructionList &list,
                                const StepCosts &costs) const {
  ListWork work;
  for (const Instruction &instruction : list.instructions) {
    if (instruction.work == Work::Kernel) {
      work[program.kernels[instruction.index].signature->kind.str()] +=
          costs.getKernelSeconds(instruction.index);
    } else if (const Exchange *exchange = list.getExchange(instruction)) {
      const target::TransferCost &cost =
          costs.getTransfer(costs.getTransferNumber(stage, list, instruction));
      work[getExchangeKind(program, *exchange)] += cost.latency + cost.seconds;
    } else if (instruction.work == Work::Copy) {
      const StreamKind stream =
          program.stages[stage].streams[instruction.stream].kind;
      work[getCopyKind(stream).str()] += costs.getCopySeconds(
          stream, instruction.accesses.front().operand.bytes);
    }
  }
  return work;
}

void StepSimulator::readWork(size_t number, const StepCosts &costs,
                             StageTimeline &timeline) const {
  const StageProgram &stage = program.stages[number];
  std::vector<ListWork> routines;
  for (const Routine &routine : stage.routines)
    routines.push_back(sumList(number, routine.body, costs));
  timeline.secondsByKind = sumList(number, stage.step, costs);
  std::vector<int64_t> runs(routines.size(), 0);
  for (const Call &call : stage.step.calls)
    ++runs[call.routine];
  for (auto [work, count] : llvm::zip_equal(routines, runs))
    for (const auto &[kind, seconds] : work)
      timeline.secondsByKind[kind] += static_cast<double>(count) * seconds;
}

Error StepSimulator::readStage(size_t number, const StepCosts &costs,
                               SpanReader &spans) {
  const StageProgram &stage = program.stages[number];
  StageTimeline &timeline = result.stages.emplace_back();
  timeline.stage = stage.stage;
  timeline.rank = stage.stage * program.mesh.getRanksPerStage();
  Expected<std::vector<StepTask>> tasks = findTasks(stage);
  if (!tasks)
    return tasks.takeError();
  spans.read(number, *tasks, timeline);
  for (const timeline::StreamTimeline &stream : timeline.streams)
    if (!stream.spans.empty())
      timeline.end = std::max(timeline.end, stream.spans.back().end);
  // The peak and its contents are those of the plan, independent of times.
  addStageFacts(program, stage, *tasks, timeline);
  if (options.withPeakContents)
    addPeakContents(stage, timeline);
  readMemory(stage, spans, timeline);
  readWork(number, costs, timeline);
  return Error::success();
}

void StepSimulator::addFacts() {
  result.isSimulated = true;
  result.target = target.name;
  result.peakFlopsPerSecond = target.getPeak(Engine::Cube, DType::BF16);
  for (const StageTimeline &stage : result.stages)
    result.seconds = std::max(result.seconds, stage.end);
  result.seconds += target.stepLatency;
  addStepFacts(program, result);
}

/// Gives each exchange the names of the networks that carry it.
void StepSimulator::nameNetworks(const StepCosts &costs,
                                 ActivityTable &activities) const {
  for (size_t number = 0; number < program.stages.size(); ++number) {
    const StageProgram &stage = program.stages[number];
    auto nameList = [&](const InstructionList &list,
                        std::optional<uint32_t> routine) {
      for (auto [i, instruction] : llvm::enumerate(list.instructions)) {
        if (instruction.work != Work::Exchange)
          continue;
        timeline::Activity &activity = activities.get(
            activities.find(number, routine, static_cast<uint32_t>(i)));
        for (uint32_t network : costs
                                    .getTransfer(costs.getTransferNumber(
                                        number, list, instruction))
                                    .networks)
          activity.networks.push_back(target.networks[network].name);
      }
    };
    nameList(stage.step, std::nullopt);
    for (uint32_t i = 0; i < stage.routines.size(); ++i)
      nameList(stage.routines[i].body, i);
  }
}

Expected<StepTimeline> StepSimulator::run() {
  Expected<StepCosts> costs =
      StepCosts::create(program, target, options.expertLoad);
  if (!costs)
    return costs.takeError();
  const StepQueues queues(program, *costs, tick);
  Expected<events::Timeline> times = queues.simulate();
  if (!times)
    return times.takeError();
  ActivityTable activities(program);
  nameNetworks(*costs, activities);
  SpanReader spans(program, queues, *times, *costs, activities,
                   options.withSpans);
  for (size_t stage = 0; stage < program.stages.size(); ++stage)
    if (Error error = readStage(stage, *costs, spans))
      return error;
  addFacts();
  result.graphKernelFusion = costs->getCompilation().graphKernelFusion;
  result.filledRows = costs->getCompilation().filledRows;
  result.flows = spans.getFlows();
  result.activities = activities.take();
  const CriticalWork work(program, queues, *times, *costs);
  result.criticalPath = work.getShares(program, *costs);
  if (target.stepLatency > 0)
    result.criticalPath.push_back({"host", target.stepLatency});
  if (!options.withSensitivity)
    return std::move(result);
  auto sensitivity = computeSensitivity(program, target, work, *costs);
  if (!sensitivity)
    return sensitivity.takeError();
  result.sensitivity = std::move(*sensitivity);
  return std::move(result);
}

Expected<StepTimeline> simulate(const Program &program,
                                const target::Target &target,
                                const SimulationOptions &options) {
  return StepSimulator(program, target, options).run();
}

} // namespace mf::simulator
