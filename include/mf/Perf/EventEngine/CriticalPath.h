//===- CriticalPath.h - What the end of a simulation waits for --*- C++ -*-===//

#ifndef MF_SIM_CRITICALPATH_H
#define MF_SIM_CRITICALPATH_H

#include "mf/Perf/EventEngine/Queues.h"

namespace mf::sim {

/// An item that keeps the end from coming earlier, and when: work as a whole, a
/// rendezvous from the start of the last item that comes to it.
struct PathStep {
  ItemId item;
  double start = 0;
  double end = 0;
};

/// From time 0 to the end of everything: each step starts when the one before
/// it ends. Waits lead to the queue that records, a rendezvous to the last that
/// comes; what takes no time is left out. Among several such paths, it stays on
/// its queue where it can and else takes the first queue. Transfers that share
/// links make each other's steps longer.
std::vector<PathStep> findCriticalPath(const Queues &queues,
                                       const Timeline &timeline);

} // namespace mf::sim

#endif // MF_SIM_CRITICALPATH_H
