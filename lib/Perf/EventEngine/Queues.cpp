//===- Queues.cpp - Queues and what they wait for -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/EventEngine/Queues.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace mf::events {

QueueId Queues::addQueue() {
  queues.emplace_back();
  return getNumQueues() - 1;
}

EventId Queues::addEvents(int32_t count) {
  numEvents += count;
  return numEvents - count;
}

GroupId Queues::addGroup(double duration) {
  groups.emplace_back().latency = round(duration);
  return getNumGroups() - 1;
}

GroupId Queues::addTransfer(double latency, double seconds,
                            llvm::ArrayRef<LinkId> used,
                            SpeedsOnDevices speeds) {
  Group &group = groups.emplace_back();
  group.latency = round(latency);
  group.seconds = round(seconds);
  group.firstLink = static_cast<int32_t>(links.size());
  for (LinkId link : used)
    // A transfer uses a link once.
    if (!llvm::is_contained(llvm::ArrayRef(links).drop_front(group.firstLink),
                            link))
      links.push_back(link);
  group.numLinks = static_cast<int32_t>(links.size()) - group.firstLink;
  group.speeds = speeds;
  return getNumGroups() - 1;
}

ItemId Queues::addWork(QueueId queue, double duration, LinkId device) {
  const GroupId group = addTransfer(0, duration, device);
  groups[group].isWork = true;
  return addRendezvous(queue, group);
}

void Queues::reserve(QueueId queue, size_t items, size_t works) {
  queues[queue].codes.reserve(items);
  queues[queue].durations.reserve(works);
}

double Queues::getDuration(ItemId item) const {
  switch (getKind(item)) {
  case ItemKind::Work:
    return queues[item.queue].durations[getOperand(item)];
  case ItemKind::Rendezvous: {
    const Group &group = groups[getOperand(item)];
    return group.latency + group.seconds;
  }
  case ItemKind::Wait:
  case ItemKind::Record:
    return 0;
  }
  llvm_unreachable("covers all kinds");
}

double Timeline::getEnd() const {
  double end = 0;
  for (QueueId queue = 0; queue < static_cast<QueueId>(queues.size()); ++queue)
    end = std::max(end, getEnd(queue));
  return end;
}

double Timeline::getEnd(const Queue &queue, int32_t index) {
  int32_t skipped = 0;
  for (const Skip &skip : queue.skips) {
    int32_t behind = index - skip.first;
    if (behind < 0)
      break;
    if (behind < skip.getNumItems()) {
      int32_t period = behind / skip.items;
      int32_t simulated = skip.first - skip.items + behind % skip.items;
      return queue.ends[simulated - skipped] + (period + 1) * skip.shift;
    }
    skipped += skip.getNumItems();
  }
  return queue.ends[index - skipped];
}

int64_t Timeline::getNumSkipped() const {
  int64_t skipped = 0;
  for (const Queue &queue : queues)
    for (const Skip &skip : queue.skips)
      skipped += skip.getNumItems();
  return skipped;
}

char DeadlockError::ID = 0; // NOLINT(readability-identifier-naming)

} // namespace mf::events
