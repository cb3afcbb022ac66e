//===- BenchmarkStep.cpp - A step of many kernels as queues ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
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
    : pipeline(schedule.pipeline), kernels(shape.kernels), queues(tick),
      transfers(2 * pipeline.getNumChunks() * pipeline.microBatches, -1) {
  for (int64_t stage = 0; stage < pipeline.stages; ++stage) {
    for (int role = 0; role < NumRoles; ++role)
      queues.addQueue();
    queues.addLink();
  }
  for (auto [stage, tasks] : llvm::enumerate(schedule.stages)) {
    for (const Task &task : tasks) {
      if (hasMarks)
        for (int role = 0; role < NumRoles; ++role)
          queues.markPeriod(getQueue(stage, static_cast<Role>(role)));
      addTask(stage, task);
    }
  }
}

int64_t BenchmarkStep::getNumItems() const {
  int64_t items = 0;
  for (events::QueueId queue = 0; queue < queues.getNumQueues(); ++queue)
    items += queues.getNumItems(queue);
  return items;
}

void BenchmarkStep::addKernels(int64_t stage, double factor) {
  events::QueueId compute = getQueue(stage, Compute);
  events::QueueId collective = getQueue(stage, Collective);
  for (int64_t kernel = 0; kernel < kernels; ++kernel) {
    queues.addWork(compute, factor * kernelSeconds *
                                (1 + 0.1 * static_cast<double>(kernel % 7)));
    if (kernel % 10 != 9)
      continue;
    events::EventId ready = queues.addEvents(2);
    queues.addRecord(compute, ready);
    queues.addWait(collective, ready);
    queues.addWork(collective, collectiveSeconds);
    queues.addRecord(collective, ready + 1);
    queues.addWait(compute, ready + 1);
  }
}

events::GroupId BenchmarkStep::getTransfer(const Task &producer, int32_t step) {
  int64_t message =
      ((step < 0 ? pipeline.getNumChunks() : 0) + producer.chunk) *
          pipeline.microBatches +
      producer.microBatch;
  events::GroupId &transfer = transfers[message];
  if (transfer < 0) {
    auto from =
        static_cast<events::LinkId>(pipeline.stageOfChunk[producer.chunk]);
    auto to = static_cast<events::LinkId>(
        pipeline.stageOfChunk[producer.chunk + step]);
    transfer = queues.addTransfer(latency, messageSeconds, {from, to});
  }
  return transfer;
}

void BenchmarkStep::addTask(int64_t stage, const Task &task) {
  bool isForward = task.phase == Phase::Forward;
  int32_t step = isForward ? 1 : -1;
  events::QueueId compute = getQueue(stage, Compute);
  if (isChunk(task.chunk - step)) {
    Task producer = task;
    producer.chunk -= step;
    events::QueueId queue =
        getQueue(stage, isForward ? ReceiveForward : ReceiveGradient);
    events::EventId arrived = queues.addEvents();
    queues.addRendezvous(queue, getTransfer(producer, step));
    queues.addRecord(queue, arrived);
    queues.addWait(compute, arrived);
  }
  addKernels(stage, isForward ? 1 : 2);
  if (isChunk(task.chunk + step)) {
    events::QueueId queue =
        getQueue(stage, isForward ? SendForward : SendGradient);
    events::EventId made = queues.addEvents();
    queues.addRecord(compute, made);
    queues.addWait(queue, made);
    queues.addRendezvous(queue, getTransfer(task, step));
  }
}

} // namespace mf::benchmarks
