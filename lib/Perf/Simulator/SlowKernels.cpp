//===- SlowKernels.cpp - Kernels that transfers slow ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "SlowKernels.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <set>

namespace mf::simulator {

using namespace program;

using Interval = SlowKernels::Interval;

/// Returns the intervals of all transfers of a stage that slow its kernels.
/// They may overlap.
static std::vector<Interval> findTransfers(const Program &program,
                                           const StepQueues &queues,
                                           const events::Timeline &times,
                                           const StepCosts &costs, size_t stage,
                                           llvm::ArrayRef<double> groupStarts) {
  std::vector<Interval> found;
  std::vector<int32_t> next(program.stages[stage].streams.size(), 0);
  queues.walk(stage, [&](const Emitted &emitted) {
    const events::ItemId item = {queues.getQueue(stage, emitted.stream),
                                 next[emitted.stream]++};
    if (emitted.op->kind != OpKind::Exchange ||
        emitted.stream == program.stages[stage].computeStream)
      return;
    const double speed = costs.getTransfer(emitted.op->operand).hidden;
    const double start = groupStarts[queues.getQueues().getOperand(item)];
    const double end = times.getEnd(item);
    if (speed < 1 && start < end)
      found.push_back({start, end, speed,
                       emitted.list->getExchange(
                           emitted.list->instructions[emitted.op->first]),
                       emitted.op->operand});
  });
  return found;
}

SlowKernels::SlowKernels(const Program &program, const StepQueues &queues,
                         const events::Timeline &times, const StepCosts &costs,
                         size_t stage, llvm::ArrayRef<double> groupStarts) {
  if (!queues.hasDevice(stage))
    return;
  const std::vector<Interval> transfers =
      findTransfers(program, queues, times, costs, stage, groupStarts);
  // Each transfer starts and ends at a time.
  std::vector<std::tuple<double, bool, size_t>> moments;
  for (auto [index, transfer] : llvm::enumerate(transfers)) {
    moments.push_back({transfer.start, true, index});
    moments.push_back({transfer.end, false, index});
  }
  llvm::sort(moments);
  std::set<std::pair<double, size_t>> underWay;
  double last = 0;
  for (const auto &[time, starts, index] : moments) {
    if (!underWay.empty() && last < time) {
      Interval slow = transfers[underWay.begin()->second];
      slow.start = last;
      slow.end = time;
      intervals.push_back(slow);
    }
    last = time;
    const std::pair<double, size_t> key = {transfers[index].speed, index};
    if (starts)
      underWay.insert(key);
    else
      underWay.erase(key);
  }
}

const Interval *SlowKernels::findFirst(double time) const {
  return llvm::partition_point(
      llvm::ArrayRef(intervals),
      [&](const Interval &interval) { return interval.end <= time; });
}

double SlowKernels::getEnd(double start, double seconds) const {
  double time = start, left = seconds;
  for (const Interval *slow = findFirst(start);
       slow != intervals.data() + intervals.size(); ++slow) {
    const double before = std::max(0.0, slow->start - time);
    if (left <= before)
      break;
    left -= before;
    time = std::max(time, slow->start);
    const double done = (slow->end - time) * slow->speed;
    if (left < done)
      return time + left / slow->speed;
    left -= done;
    time = slow->end;
  }
  return time + left;
}

} // namespace mf::simulator
