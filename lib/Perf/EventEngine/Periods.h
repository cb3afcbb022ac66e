//===- Periods.h - Queues whose items repeat --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PERF_EVENTENGINE_PERIODS_H
#define MF_LIB_PERF_EVENTENGINE_PERIODS_H

#include "mf/Perf/EventEngine/Queues.h"

namespace mf::events {

/// Successive periods of a queue with equal numbers of items. Items at the same
/// place in them are of the same kind, work takes the same time, and the
/// indices of events and groups differ by a constant between successive
/// periods. Durations of rendezvous are not compared.
struct Run {
  int32_t first = 0;
  /// Items of a period; 0 if the queue has no run.
  int32_t items = 0;
  int32_t periods = 0;

  int32_t getEnd() const { return first + items * periods; }
};

/// Returns for each queue the run, from its position on, that covers the middle
/// of a window at `share` of its marks (0 to 1). All queues have the same
/// number of marks in a period. Empty if nothing repeats several times.
std::vector<Run> findRuns(const Queues &queues,
                          llvm::ArrayRef<int32_t> positions, double share);

} // namespace mf::events

#endif // MF_LIB_PERF_EVENTENGINE_PERIODS_H
