//===- BenchmarkStep.cpp - A step of many kernels as lines ----------------===//
//--------------------===//

#include "BenchmarkStep.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::benchmarks {

using schedule::Phase;
using schedule::Task;

namespace {

/// About a nanosecond.
constexpr double tick = 0x1p-30;
constexpr double kernelSeconds = 150e-6, collectiveSeconds = 200e-6;
constexpr double messageSeconds = 900e-6, latency = 10e-6;

} // namespace

BenchmarkStep::BenchmarkStep(const schedule::Schedule &schedule,
                             const StepShape &shape, bool hasMarks)
    : pipeline(schedule.pipeline), kernels(shape.kernels), lines(tick),
      transfers(2 * pipeline.getNumChunks() * pipeline.microBatches, -1) {
  for (int64_t stage = 0; stage < pipeline.stages; ++stage) {
    for (int role = 0; role < NumRoles; ++role)
      lines.addLine();
    lines.addLink();
  }
  for (auto [stage, tasks] : llvm::enumerate(schedule.stages)) {
    for (const Task &task : tasks) {
      if (hasMarks)
        for (int role = 0; role < NumRoles; ++role)
          lines.markPeriod(getLine(stage, static_cast<Role>(role)));
      addTask(stage, task);
    }
  }
}

int64_t BenchmarkStep::getNumItems() const {
  int64_t items = 0;
  for (sim::LineId line = 0; line < lines.getNumLines(); ++line)
    items += lines.getNumItems(line);
  return items;
}

void BenchmarkStep::addKernels(int64_t stage, double factor) {
  sim::LineId compute = getLine(stage, Compute);
  sim::LineId collective = getLine(stage, Collective);
  for (int64_t kernel = 0; kernel < kernels; ++kernel) {
    lines.addWork(compute, factor * kernelSeconds *
                               (1 + 0.1 * static_cast<double>(kernel % 7)));
    if (kernel % 10 != 9)
      continue;
    sim::EventId ready = lines.addEvents(2);
    lines.addRecord(compute, ready);
    lines.addWait(collective, ready);
    lines.addWork(collective, collectiveSeconds);
    lines.addRecord(collective, ready + 1);
    lines.addWait(compute, ready + 1);
  }
}

sim::GroupId BenchmarkStep::getTransfer(const Task &producer, int32_t step) {
  int64_t message =
      ((step < 0 ? pipeline.getNumChunks() : 0) + producer.chunk) *
          pipeline.microBatches +
      producer.microBatch;
  sim::GroupId &transfer = transfers[message];
  if (transfer < 0) {
    auto from = static_cast<sim::LinkId>(pipeline.stageOfChunk[producer.chunk]);
    auto to =
        static_cast<sim::LinkId>(pipeline.stageOfChunk[producer.chunk + step]);
    transfer = lines.addTransfer(latency, messageSeconds, {from, to});
  }
  return transfer;
}

void BenchmarkStep::addTask(int64_t stage, const Task &task) {
  bool isForward = task.phase == Phase::Forward;
  int32_t step = isForward ? 1 : -1;
  sim::LineId compute = getLine(stage, Compute);
  if (isChunk(task.chunk - step)) {
    Task producer = task;
    producer.chunk -= step;
    sim::LineId line =
        getLine(stage, isForward ? ReceiveForward : ReceiveGradient);
    sim::EventId arrived = lines.addEvents();
    lines.addRendezvous(line, getTransfer(producer, step));
    lines.addRecord(line, arrived);
    lines.addWait(compute, arrived);
  }
  addKernels(stage, isForward ? 1 : 2);
  if (isChunk(task.chunk + step)) {
    sim::LineId line = getLine(stage, isForward ? SendForward : SendGradient);
    sim::EventId made = lines.addEvents();
    lines.addRecord(compute, made);
    lines.addWait(line, made);
    lines.addRendezvous(line, getTransfer(task, step));
  }
}

} // namespace mf::benchmarks
