//===- StepSimulator.cpp - A lowered step on a target ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/Simulator/StepSimulator.h"
#include "StepQueues.h"
#include "StepSpans.h"
#include "mf/Perf/EventEngine/CriticalPath.h"
#include "mf/Perf/Simulator/Activities.h"
#include "mf/Perf/Simulator/MemoryCurve.h"
#include "mf/Perf/Simulator/ProgramProperties.h"
#include "mf/Perf/Timeline/StepTimeline.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>

using llvm::Error;
using llvm::Expected;

namespace mf::simulator {

namespace {

/// The number of times that the critical path of a step contains each kind of
/// work. The step's time is their sum, as long as the path does not change.
class CriticalWork {
public:
  CriticalWork(const Program &program, const StepQueues &queues,
               const events::Timeline &times, const StepCosts &costs)
      : kernelCounts(program.kernels.size(), 0) {
    // For each queue, the items on the path with their times on it.
    std::vector<std::map<int32_t, double>> onPath(
        queues.getQueues().getNumQueues());
    for (const events::PathSegment &segment :
         events::findCriticalPath(queues.getQueues(), times))
      onPath[segment.item.queue][segment.item.index] +=
          segment.end - segment.start;
    const std::vector<double> groupStarts = queues.getGroupStarts(times);
    for (size_t number = 0; number < program.stages.size(); ++number) {
      const StageProgram &stage = program.stages[number];
      const SlowKernels slow(program, queues, times, costs, number,
                             groupStarts);
      std::vector<int32_t> next(stage.streams.size(), 0);
      queues.walk(number, [&](const Emitted &emitted) {
        const events::ItemId item = {queues.getQueue(number, emitted.stream),
                                     next[emitted.stream]++};
        auto found = onPath[item.queue].find(item.index);
        if (found == onPath[item.queue].end())
          return;
        add(program, stage, emitted, found->second, costs);
        if (emitted.op->kind == OpKind::Kernels &&
            emitted.stream == stage.computeStream)
          addSlowdown(program, slow, times.getStart(item), times.getEnd(item),
                      costs);
      });
    }
  }

  /// Returns the total time in seconds if instructions have the given costs.
  double getSeconds(const StepCosts &costs) const {
    double seconds = 0;
    for (auto [kernel, count] : llvm::enumerate(kernelCounts))
      seconds += static_cast<double>(count) * costs.getKernelSeconds(kernel);
    for (const auto &[number, work] : transfers)
      seconds += getSeconds(work, costs.getTransfer(number));
    for (const auto &[key, count] : copies)
      seconds += static_cast<double>(count) *
                 costs.getCopySeconds(key.stream, key.bytes);
    return seconds;
  }

  /// Returns the shares of the kinds of work, largest first.
  std::vector<timeline::CriticalShare> getShares(const Program &program,
                                                 const StepCosts &costs) const {
    std::map<std::string, double> byKind;
    for (auto [kernel, count] : llvm::enumerate(kernelCounts))
      if (count > 0)
        byKind[program.kernels[kernel].signature->kind.str()] +=
            static_cast<double>(count) * costs.getKernelSeconds(kernel);
    for (const auto &[number, work] : transfers)
      byKind[work.kind] += getSeconds(work, costs.getTransfer(number));
    for (const auto &[key, count] : copies)
      byKind[getCopyKind(key.stream).str()] +=
          static_cast<double>(count) *
          costs.getCopySeconds(key.stream, key.bytes);
    std::vector<timeline::CriticalShare> shares;
    for (const auto &[kind, seconds] : byKind)
      shares.push_back({kind, seconds});
    // Kinds are in the order of their names, each once.
    llvm::sort(shares, [](const auto &left, const auto &right) {
      return std::tie(right.seconds, left.kind) <
             std::tie(left.seconds, right.kind);
    });
    return shares;
  }

private:
  void add(const Program &program, const StageProgram &stage,
           const Emitted &emitted, double seconds, const StepCosts &costs) {
    const Op &op = *emitted.op;
    const Instruction &instruction = emitted.list->instructions[op.first];
    switch (op.kind) {
    case OpKind::Kernels:
      op.forEachKernel(*emitted.list, [&](uint32_t, const Instruction &kernel) {
        ++kernelCounts[kernel.index];
      });
      return;
    case OpKind::Copy:
      ++copies[{stage.streams[op.stream].kind,
                instruction.accesses.front().operand.bytes}];
      return;
    case OpKind::Exchange: {
      const target::TransferCost &cost = costs.getTransfer(op.operand);
      TransferWork &work = transfers[op.operand];
      work.kind =
          getExchangeKind(program, *emitted.list->getExchange(instruction));
      ++work.count;
      work.shared += seconds - cost.latency - cost.seconds;
      return;
    }
    case OpKind::Wait:
    case OpKind::Record:
    case OpKind::CallRecord:
    case OpKind::Call:
      return;
    }
  }

  /// Adds what transfers take from kernels that run between two times.
  void addSlowdown(const Program &program, const SlowKernels &slow,
                   double start, double end, const StepCosts &costs) {
    slow.visit(start, end,
               [&](const SlowKernels::Interval &interval, double seconds) {
                 TransferWork &work = transfers[interval.transfer];
                 work.kind = getExchangeKind(program, *interval.exchange);
                 const target::TransferCost &cost =
                     costs.getTransfer(interval.transfer);
                 work.besideKernels += seconds / (cost.latency + cost.seconds);
               });
  }

  struct CopyKey {
    program::StreamKind stream;
    int64_t bytes;
    bool operator<(const CopyKey &other) const {
      return std::tie(stream, bytes) < std::tie(other.stream, other.bytes);
    }
  };
  struct TransferWork {
    std::string kind;
    int64_t count = 0;
    /// The transfers beside which kernels of the path run. Parts of transfers
    /// count as such.
    double besideKernels = 0;
    /// The time in addition to that of the transfer alone, because others use
    /// its links or kernels run beside it.
    double shared = 0;
  };

  static double getSeconds(const TransferWork &work,
                           const target::TransferCost &cost) {
    return (static_cast<double>(work.count) +
            work.besideKernels * (1 - cost.hidden)) *
               (cost.latency + cost.seconds) +
           work.shared;
  }

  std::vector<int64_t> kernelCounts;
  std::map<uint32_t, TransferWork> transfers;
  std::map<CopyKey, int64_t> copies;
};

} // namespace

using namespace program;

/// For each number of the target, by its path, returns the derivative of the
/// step's time with respect to its logarithm. Numbers without effect are left
/// out.
static llvm::Expected<std::map<std::string, double>>
computeSensitivity(const Program &program, const target::Target &target,
                   const CriticalWork &work, const StepCosts &costs) {
  // Costs are smooth except at the maximum of two times, so a small change is
  // enough.
  constexpr double change = 1e-4;
  std::map<std::string, double> sensitivity;
  target::Target changed = target;
  StepCosts changedCosts = costs;
  const double before = work.getSeconds(costs) + target.stepLatency;
  for (const target::Parameter &parameter : target::getParameters(changed)) {
    if (*parameter.value == 0)
      continue;
    const double value = *parameter.value;
    *parameter.value = value * (1 + change);
    if (llvm::Error error = changedCosts.update(program, changed))
      return error;
    const double after = work.getSeconds(changedCosts) + changed.stepLatency;
    *parameter.value = value;
    if (const double slope = (after - before) / std::log1p(change);
        std::abs(slope) > before * 1e-9)
      sensitivity[parameter.path] = slope;
  }
  return sensitivity;
}

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

  Expected<StepTimeline> run() {
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
    if (!options.withCriticalPath)
      return std::move(result);
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

private:
  Error readStage(size_t number, const StepCosts &costs, SpanReader &spans) {
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
    addStageProperties(program, stage, *tasks, timeline);
    if (options.withPeakContents)
      addPeakContents(stage, timeline);
    readMemory(stage, spans, timeline);
    readWork(number, costs, timeline);
    return Error::success();
  }

  void readMemory(const StageProgram &stage, const SpanReader &spans,
                  StageTimeline &result) const {
    result.limitBytes = stage.hbmLimitBytes.value_or(target.memory.bytes);
    if (!options.withSpans || !options.withMemory)
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

  ListWork sumList(size_t stage, const InstructionList &list,
                   const StepCosts &costs) const {
    ListWork work;
    for (const Instruction &instruction : list.instructions) {
      if (instruction.work == Work::Kernel) {
        work[program.kernels[instruction.index].signature->kind.str()] +=
            costs.getKernelSeconds(instruction.index);
      } else if (const Exchange *exchange = list.getExchange(instruction)) {
        const target::TransferCost &cost = costs.getTransfer(
            costs.getTransferNumber(stage, list, instruction));
        work[getExchangeKind(program, *exchange)] +=
            cost.latency + cost.seconds;
      } else if (instruction.work == Work::Copy) {
        const StreamKind stream =
            program.stages[stage].streams[instruction.stream].kind;
        work[getCopyKind(stream).str()] += costs.getCopySeconds(
            stream, instruction.accesses.front().operand.bytes);
      }
    }
    return work;
  }

  void readWork(size_t number, const StepCosts &costs,
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

  /// Gives each exchange the names of the networks that carry it.
  void nameNetworks(const StepCosts &costs, ActivityTable &activities) const {
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

  void addFacts() {
    result.isSimulated = true;
    result.target = target.name;
    result.peakFlopsPerSecond = target.getPeak(Engine::Cube, DType::BF16);
    for (const StageTimeline &stage : result.stages)
      result.seconds = std::max(result.seconds, stage.end);
    result.seconds += target.stepLatency;
    addStepProperties(program, result);
  }

  const Program &program;
  const target::Target &target;
  SimulationOptions options;
  StepTimeline result;
};

} // namespace

Expected<StepTimeline> simulate(const Program &program,
                                const target::Target &target,
                                const SimulationOptions &options) {
  return StepSimulator(program, target, options).run();
}

} // namespace mf::simulator
