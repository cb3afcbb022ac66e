//===- CriticalPath.cpp - Critical path of a simulation -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/EventEngine/CriticalPath.h"
#include <algorithm>

namespace mf::events {

namespace {

constexpr ItemId noItem{-1, -1};

class PathFinder {
public:
  PathFinder(const Queues &queues, const Timeline &timeline)
      : queues(queues), timeline(timeline),
        recordOfEvent(queues.getNumEvents(), noItem),
        lastOfGroup(queues.getNumGroups(), noItem) {
    for (QueueId queue = 0; queue < queues.getNumQueues(); ++queue) {
      for (int32_t index = 0; index < queues.getNumItems(queue); ++index) {
        ItemId item{queue, index};
        ItemKind kind = queues.getKind(item);
        if (kind == ItemKind::Record) {
          recordOfEvent[queues.getOperand(item)] = item;
        } else if (kind == ItemKind::Rendezvous) {
          ItemId &last = lastOfGroup[queues.getOperand(item)];
          if (last == noItem || getStart(last) < getStart(item))
            last = item;
        }
      }
    }
  }

  std::vector<PathSegment> find() {
    std::vector<PathSegment> path;
    ItemId item = findLast();
    while (item.index >= 0) {
      ItemId cause = getCause(item);
      PathSegment segment{cause, getStart(cause), timeline.getEnd(cause)};
      if (segment.start < segment.end)
        path.push_back(segment);
      item = {cause.queue, cause.index - 1};
    }
    std::reverse(path.begin(), path.end());
    return path;
  }

private:
  double getStart(ItemId item) const { return timeline.getStart(item); }
  ItemId findLast() const {
    ItemId last = noItem;
    for (QueueId queue = 0; queue < queues.getNumQueues(); ++queue) {
      ItemId item{queue, queues.getNumItems(queue) - 1};
      if (item.index >= 0 &&
          (last == noItem || timeline.getEnd(last) < timeline.getEnd(item)))
        last = item;
    }
    return last;
  }

  /// Returns the item whose end determines the end of this one. It is the
  /// previous one on its own queue unless that one ended earlier.
  ItemId getCause(ItemId item) const {
    switch (queues.getKind(item)) {
    case ItemKind::Wait:
      if (getStart(item) < timeline.getEnd(item))
        return recordOfEvent[queues.getOperand(item)];
      return item;
    case ItemKind::Rendezvous: {
      ItemId last = lastOfGroup[queues.getOperand(item)];
      return getStart(item) < getStart(last) ? last : item;
    }
    case ItemKind::Work:
    case ItemKind::Record:
      return item;
    }
    llvm_unreachable("covers all kinds");
  }

  const Queues &queues;
  const Timeline &timeline;
  /// The item that records each event, and the last item to join each
  /// rendezvous.
  std::vector<ItemId> recordOfEvent, lastOfGroup;
};

} // namespace

std::vector<PathSegment> findCriticalPath(const Queues &queues,
                                          const Timeline &timeline) {
  return PathFinder(queues, timeline).find();
}

} // namespace mf::events
