//===- BenchmarkStep.h - A step of many kernels as queues -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//-*-===//

#ifndef MF_BENCHMARKS_STEP_SIMULATOR_BENCHMARKSTEP_H
#define MF_BENCHMARKS_STEP_SIMULATOR_BENCHMARKSTEP_H

#include "mf/Perf/EventEngine/Queues.h"
#include "mf/Pipeline/Schedule.h"

namespace mf::benchmarks {

struct StepShape {
  const char *schedule;
  int64_t stages, chunks, microBatches;
  /// Kernels of a chunk, forward or backward; every tenth is followed by a
  /// collective.
  int64_t kernels;
};

/// The simulated queues of a schedule: each stage has queues that compute, run
/// collectives, and send and receive in both directions. They wait for one
/// another by events. Messages are transfers over the ports of both stages.
class BenchmarkStep {
public:
  BenchmarkStep(const schedule::Schedule &schedule, const StepShape &shape,
                bool hasMarks);

  const events::Queues &get() const { return queues; }
  int64_t getNumItems() const;

private:
  /// Sends and receives of forwards are in queues of their own, and so are
  /// those of gradients.
  enum Role {
    Compute,
    Collective,
    SendForward,
    SendGradient,
    ReceiveForward,
    ReceiveGradient,
    NumRoles
  };

  events::QueueId getQueue(int64_t stage, Role role) const {
    return static_cast<events::QueueId>(stage * NumRoles + role);
  }
  void addTask(int64_t stage, const schedule::Task &task);
  void addKernels(int64_t stage, double factor);
  /// The transfer of a task's result to the chunk `step` further.
  events::GroupId getTransfer(const schedule::Task &producer, int32_t step);
  bool isChunk(int32_t chunk) const {
    return chunk >= 0 && chunk < pipeline.getNumChunks();
  }

  const schedule::Pipeline &pipeline;
  int64_t kernels;
  events::Queues queues;
  /// The transfer of each message, or -1.
  std::vector<events::GroupId> transfers;
};

} // namespace mf::benchmarks

#endif // MF_BENCHMARKS_STEP_SIMULATOR_BENCHMARKSTEP_H
