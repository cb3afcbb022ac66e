//===- StepSpans.h - Simulated queues as timelines of stages ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PERF_SIMULATOR_STEPSPANS_H
#define MF_LIB_PERF_SIMULATOR_STEPSPANS_H

#include "StepQueues.h"
#include "mf/Perf/Simulator/Activities.h"
#include "mf/Perf/Simulator/ProgramProperties.h"
#include "mf/Perf/Timeline/StepTimeline.h"
#include "llvm/ADT/DenseMap.h"

namespace mf::simulator {

/// The times of a simulated stage in which its kernels run slower because of a
/// transfer.
class SlowKernels {
public:
  struct Interval {
    double start = 0;
    double end = 0;
    /// The share of their speed that kernels keep.
    double speed = 1;
    /// The transfer, and the entry of its cost.
    const program::Exchange *exchange = nullptr;
    uint32_t transfer = 0;
  };

  /// Makes an object without slow kernels.
  SlowKernels() = default;
  /// `groupStarts` are the times that StepQueues::getGroupStarts returns.
  SlowKernels(const program::Program &program, const StepQueues &queues,
              const events::Timeline &times, const StepCosts &costs,
              size_t stage, llvm::ArrayRef<double> groupStarts);

  /// Returns when a kernel ends that takes `seconds` alone.
  double getEnd(double start, double seconds) const;

  /// Calls `visit(interval, seconds)` for the slow intervals between two times,
  /// with the seconds of each between them.
  template <typename Visitor>
  void visit(double start, double end, Visitor visit) const {
    for (const Interval *slow = findFirst(start);
         slow != intervals.data() + intervals.size() && slow->start < end;
         ++slow)
      visit(*slow, std::min(slow->end, end) - std::max(slow->start, start));
  }

private:
  /// Returns the first interval that ends after a time.
  const Interval *findFirst(double time) const;

  /// Intervals that do not overlap, in the order of time.
  std::vector<Interval> intervals;
};

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
