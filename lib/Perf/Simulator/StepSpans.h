//===- StepSpans.h - Simulated queues as timelines of stages ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PERF_SIMULATOR_STEPSPANS_H
#define MF_LIB_PERF_SIMULATOR_STEPSPANS_H

#include "SlowKernels.h"
#include "StepQueues.h"
#include "mf/Perf/Simulator/Activities.h"
#include "mf/Perf/Simulator/ProgramFacts.h"
#include "mf/Perf/Timeline/StepTimeline.h"
#include "llvm/ADT/DenseMap.h"

namespace mf::simulator {

/// Reads the times of activities from queues that have been simulated.
class SpanReader {
public:
  SpanReader(const program::Program &program, const StepQueues &queues,
             const events::Timeline &times, const StepCosts &costs,
             const ActivityTable &activities, bool spanOfEachKernel);

  /// Fills in streams, and tasks with their layout as the chunk.
  void read(size_t stage, llvm::ArrayRef<program::StepTask> ofStage,
            timeline::StageTimeline &result);

  /// Returns the times at which streams reached the instructions of the call at
  /// `position` of the stage that was read last. Requires that each kernel has
  /// a span.
  llvm::ArrayRef<double> getStarts(uint32_t position) const;

  /// Returns the messages between the stages that have been read.
  std::vector<timeline::Flow> getFlows() const { return messages.getFlows(); }

private:
  void addItem(size_t stage, const Emitted &emitted, events::ItemId item,
               timeline::StageTimeline &result);
  void addKernels(size_t stage, const Emitted &emitted, events::ItemId item,
                  std::vector<timeline::Span> &spans);
  void noteStart(const Emitted &emitted, uint32_t instruction, double time);
  void addToTask(double start, double end, bool isCall,
                 timeline::StageTimeline &result);

  const program::Program &program;
  const StepQueues &queues;
  const events::Timeline &times;
  const StepCosts &costs;
  const ActivityTable &activities;
  bool spanOfEachKernel;
  /// For each rendezvous, the time at which the last member arrived.
  std::vector<double> groupStarts;
  /// The slow kernels of the stage that is being read.
  SlowKernels slow;
  /// The task, on the stage that is being read, whose call is visited, or -1.
  int32_t task = -1;
  /// For each task of that stage, whether a kernel with a duration was read.
  std::vector<bool> hasKernel;
  /// The tasks of that stage.
  llvm::ArrayRef<program::StepTask> tasks;
  /// For each call of this stage, the start of each instruction.
  llvm::DenseMap<uint32_t, std::vector<double>> starts;
  MessageTable messages;
};

} // namespace mf::simulator

#endif // MF_LIB_PERF_SIMULATOR_STEPSPANS_H
