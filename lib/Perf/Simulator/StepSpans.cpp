//===- StepSpans.cpp - Simulated queues as timelines of stages ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StepSpans.h"
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

using timeline::Span;
using timeline::StageTimeline;

SpanReader::SpanReader(const Program &program, const StepQueues &queues,
                       const events::Timeline &times, const StepCosts &costs,
                       const ActivityTable &activities, bool spanOfEachKernel)
    : program(program), queues(queues), times(times), costs(costs),
      activities(activities), spanOfEachKernel(spanOfEachKernel),
      groupStarts(queues.getGroupStarts(times)), messages(program) {}

static std::optional<uint32_t> getRoutine(const Emitted &emitted) {
  return emitted.call ? std::optional(emitted.call->routine) : std::nullopt;
}

void SpanReader::addKernels(size_t stage, const Emitted &emitted,
                            events::ItemId item, std::vector<Span> &spans) {
  const std::optional<uint32_t> routine = getRoutine(emitted);
  double end = times.getStart(item);
  emitted.op->forEachKernel(
      *emitted.list, [&](uint32_t i, const Instruction &instruction) {
        const double start = end;
        noteStart(emitted, i, start);
        end = slow.getEnd(start, costs.getKernelSeconds(instruction.index));
        spans.push_back({start, end, activities.find(stage, routine, i), task});
      });
  spans.back().end = times.getEnd(item);
}

void SpanReader::noteStart(const Emitted &emitted, uint32_t instruction,
                           double time) {
  if (!emitted.call || !spanOfEachKernel)
    return;
  std::vector<double> &ofCall = starts[emitted.position];
  ofCall.resize(emitted.list->instructions.size());
  // A wait precedes the work that needs it.
  if (ofCall[instruction] == 0)
    ofCall[instruction] = time;
}

llvm::ArrayRef<double> SpanReader::getStarts(uint32_t position) const {
  auto found = starts.find(position);
  return found == starts.end() ? llvm::ArrayRef<double>()
                               : llvm::ArrayRef(found->second);
}

/// A task lasts from its first kernel to its last, because it may wait for its
/// inputs before. A task without kernels is at the place of its call.
void SpanReader::addToTask(double start, double end, bool isCall,
                           StageTimeline &result) {
  timeline::TaskSpan &span = result.tasks[task];
  if (isCall || !hasKernel[task])
    span.start = start;
  if (!isCall && end > start)
    hasKernel[task] = true;
  span.end = std::max(span.start, end);
}

void SpanReader::addItem(size_t stage, const Emitted &emitted,
                         events::ItemId item, StageTimeline &result) {
  std::vector<Span> &spans = result.streams[emitted.stream].spans;
  const std::optional<uint32_t> routine = getRoutine(emitted);
  const Op &op = *emitted.op;
  double start = times.getStart(item);
  const double end = times.getEnd(item);
  auto add = [&](uint32_t activity) {
    spans.push_back({start, end, activity, task});
  };
  if (op.kind != OpKind::Kernels)
    noteStart(emitted, op.first, start);
  switch (op.kind) {
  case OpKind::Kernels:
    if (spanOfEachKernel)
      addKernels(stage, emitted, item, spans);
    else
      add(activities.find(stage, routine, op.first));
    if (task >= 0 && emitted.stream == result.computeStream)
      addToTask(start, end, /*isCall=*/false, result);
    return;
  case OpKind::Call:
    // Further parts of a task go on with it.
    if (task >= 0 && emitted.position == tasks[task].calls.front())
      addToTask(start, end, /*isCall=*/true, result);
    return;
  case OpKind::Copy:
    return add(activities.find(stage, routine, op.first));
  case OpKind::Exchange:
    if (const events::Queues &all = queues.getQueues();
        all.getKind(item) == events::ItemKind::Rendezvous)
      start = groupStarts[all.getOperand(item)];
    add(activities.find(stage, routine, op.first));
    messages.add(
        *emitted.list->getExchange(emitted.list->instructions[op.first]),
        {static_cast<uint32_t>(stage), emitted.stream,
         static_cast<uint32_t>(spans.size() - 1)});
    return;
  case OpKind::Wait:
  case OpKind::Record:
  case OpKind::CallRecord:
    return;
  }
}

void SpanReader::read(size_t number, llvm::ArrayRef<StepTask> ofStage,
                      StageTimeline &result) {
  const StageProgram &stage = program.stages[number];
  tasks = ofStage;
  starts.clear();
  slow = spanOfEachKernel
             ? SlowKernels(program, queues, times, costs, number, groupStarts)
             : SlowKernels();
  result.computeStream = stage.computeStream;
  for (const ProgramStream &stream : stage.streams)
    result.streams.push_back({stream.name, stream.kind, {}});
  addTasks(tasks, result);
  std::vector<int32_t> next(stage.streams.size(), 0);
  hasKernel.assign(tasks.size(), false);
  const std::vector<int32_t> taskOfCall = getTasksOfCalls(stage, tasks);
  queues.walk(number, [&](const Emitted &emitted) {
    task = taskOfCall[emitted.position];
    const events::ItemId item = {queues.getQueue(number, emitted.stream),
                                 next[emitted.stream]++};
    addItem(number, emitted, item, result);
  });
}

} // namespace mf::simulator
