//===- CriticalWork.cpp - Work on a step's critical path ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "CriticalWork.h"
#include "mf/Perf/EventEngine/CriticalPath.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

namespace mf::simulator {

using namespace program;

CriticalWork::CriticalWork(const Program &program, const StepQueues &queues,
                           const events::Timeline &times,
                           const StepCosts &costs)
    : kernelCounts(program.kernels.size(), 0) {
  // For each queue, the items on the path with their times on it.
  std::vector<std::map<int32_t, double>> onPath(
      queues.getQueues().getNumQueues());
  for (const events::PathStep &step :
       events::findCriticalPath(queues.getQueues(), times))
    onPath[step.item.queue][step.item.index] += step.end - step.start;
  const std::vector<double> groupStarts = queues.getGroupStarts(times);
  for (size_t number = 0; number < program.stages.size(); ++number) {
    const StageProgram &stage = program.stages[number];
    const SlowKernels slow(program, queues, times, costs, number, groupStarts);
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

void CriticalWork::addSlowdown(const Program &program, const SlowKernels &slow,
                               double start, double end,
                               const StepCosts &costs) {
  slow.visit(
      start, end, [&](const SlowKernels::Interval &interval, double seconds) {
        TransferWork &work = transfers[interval.transfer];
        work.kind = getExchangeKind(program, *interval.exchange);
        const target::TransferCost &cost = costs.getTransfer(interval.transfer);
        work.besideKernels += seconds / (cost.latency + cost.seconds);
      });
}

void CriticalWork::add(const Program &program, const StageProgram &stage,
                       const Emitted &emitted, double seconds,
                       const StepCosts &costs) {
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

double CriticalWork::getSeconds(const TransferWork &work,
                                const target::TransferCost &cost) {
  return (static_cast<double>(work.count) +
          work.besideKernels * (1 - cost.hidden)) *
             (cost.latency + cost.seconds) +
         work.shared;
}

double CriticalWork::getSeconds(const StepCosts &costs) const {
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

std::vector<timeline::CriticalShare>
CriticalWork::getShares(const Program &program, const StepCosts &costs) const {
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

llvm::Expected<std::map<std::string, double>>
computeSensitivity(const Program &program, const target::Target &target,
                   const CriticalWork &work, const StepCosts &costs) {
  // Costs are smooth except at the maximum of two times, so a small step is
  // enough.
  constexpr double step = 1e-4;
  std::map<std::string, double> sensitivity;
  target::Target changed = target;
  StepCosts changedCosts = costs;
  const double before = work.getSeconds(costs) + target.stepLatency;
  for (const target::Parameter &parameter : target::getParameters(changed)) {
    if (*parameter.value == 0)
      continue;
    const double value = *parameter.value;
    *parameter.value = value * (1 + step);
    if (llvm::Error error = changedCosts.update(program, changed))
      return error;
    const double after = work.getSeconds(changedCosts) + changed.stepLatency;
    *parameter.value = value;
    if (const double slope = (after - before) / std::log1p(step);
        std::abs(slope) > before * 1e-9)
      sensitivity[parameter.path] = slope;
  }
  return sensitivity;
}

} // namespace mf::simulator
