//===- CriticalPath.h - Critical path of a simulation -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PERF_EVENTENGINE_CRITICALPATH_H
#define MF_PERF_EVENTENGINE_CRITICALPATH_H

#include "mf/Perf/EventEngine/Queues.h"

namespace mf::events {

/// A segment of the critical path. Work counts as a whole, a rendezvous from
/// the start of the last item that joins it.
struct PathSegment {
  ItemId item;
  double start = 0;
  double end = 0;
};

/// Returns the critical path from time 0 to the end of the simulation: each
/// segment starts when the previous one ends. A wait continues on the queue
/// that records the event, a rendezvous on the queue of the last item that
/// joined. Items without duration are left out. If several paths are possible,
/// the path stays on its queue if it can, and otherwise continues on the first
/// queue. Transfers that share links lengthen each other's segments.
std::vector<PathSegment> findCriticalPath(const Queues &queues,
                                          const Timeline &timeline);

} // namespace mf::events

#endif // MF_PERF_EVENTENGINE_CRITICALPATH_H
