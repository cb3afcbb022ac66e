//===- Periods.h - Queues whose items repeat --------------------*- C++ -*-===//

#ifndef MF_LIB_SIM_PERIODS_H
#define MF_LIB_SIM_PERIODS_H

#include "mf/Perf/EventEngine/Queues.h"

namespace mf::sim {

/// Periods of a queue, one behind the other, with as many items each. Items at
/// one place of them are of one kind, work takes the same, and the numbers of
/// events and groups differ by the same from each period to the next. Times
/// of rendezvous are not compared.
struct Run {
  int32_t first = 0;
  /// Items of a period; 0 if the queue has no run.
  int32_t items = 0;
  int32_t periods = 0;

  int32_t getEnd() const { return first + items * periods; }
};

/// The run of each queue, from its position on, that goes through the middle of
/// a window at `share` of its marks (0 to 1). All queues have the same number
/// of marks in a period. Empty if there is nothing that repeats a few times.
std::vector<Run> findRuns(const Queues &queues,
                          llvm::ArrayRef<int32_t> positions, double share);

} // namespace mf::sim

#endif // MF_LIB_SIM_PERIODS_H
