//===- SlowKernels.h - Kernels that transfers slow --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PERF_SIMULATOR_SLOWKERNELS_H
#define MF_LIB_PERF_SIMULATOR_SLOWKERNELS_H

#include "StepQueues.h"

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

} // namespace mf::simulator

#endif // MF_LIB_PERF_SIMULATOR_SLOWKERNELS_H
