//===- SharedLinks.cpp - Transfers that share links -----------------------===//
//
// Changes at the same time are processed together: first all transfers that end
// leave their links, then those that start join theirs, then shares change.
// Thus nothing depends on the order of transfers or links. The duration of a
// transfer depends only on differences of times, so with a tick a shift in time
// changes no bit.
//
//===----------------------------------------------------------------------===//

#include "SharedLinks.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace mf::sim {

SharedLinks::SharedLinks(const Queues &queues)
    : queues(queues), linkIsShared(queues.getNumLinks()),
      users(queues.getNumLinks()) {
  if (queues.getNumLinks() > 0)
    findSharedLinks();
}

/// A queue that is part of all transfers over a link lets only one of them
/// start at a time. Two queues of each transfer are checked.
void SharedLinks::findSharedLinks() {
  constexpr QueueId none = -1, any = -2;
  std::vector<std::array<QueueId, 2>> common(queues.getNumLinks(), {any, any});
  for (GroupId group = 0; group < queues.getNumGroups(); ++group) {
    const std::array<QueueId, 2> &parties = queues.groups[group].firstParties;
    for (LinkId link : queues.getLinks(group)) {
      if (common[link][0] == any) {
        common[link] = parties;
        continue;
      }
      for (QueueId &queue : common[link])
        if (!llvm::is_contained(parties, queue))
          queue = none;
    }
  }
  for (auto [link, ofLink] : llvm::enumerate(common))
    linkIsShared[link] = ofLink[0] == none && ofLink[1] == none;
}

bool SharedLinks::isShared(GroupId group) const {
  return llvm::any_of(queues.getLinks(group),
                      [&](LinkId link) { return linkIsShared[link]; });
}

void SharedLinks::push(MomentHeap &heap, Moment moment) {
  heap.push_back(moment);
  std::push_heap(heap.begin(), heap.end(), isLater);
}

SharedLinks::Moment SharedLinks::pop(MomentHeap &heap) {
  std::pop_heap(heap.begin(), heap.end(), isLater);
  Moment first = heap.back();
  heap.pop_back();
  return first;
}

double SharedLinks::getNextTime() const {
  if (pending.empty())
    return ends.front().time;
  if (ends.empty())
    return pending.front().time;
  return std::min(pending.front().time, ends.front().time);
}

void SharedLinks::advance(std::vector<GroupId> &ended) {
  double time = getNextTime();
  while (!ends.empty() && ends.front().time == time) {
    int32_t index = pop(ends).index;
    ended.push_back(moving[index].group);
    end(index);
    dropStale();
  }
  while (!pending.empty() && pending.front().time == time) {
    GroupId group = pop(pending).index;
    // A transfer of no bytes is not in the way of others.
    if (queues.groups[group].seconds == 0)
      ended.push_back(group);
    else
      start(group, time);
  }
  for (LinkId link : changed)
    for (int32_t user : users[link])
      update(user, time);
  changed.clear();
  dropStale();
}

int32_t SharedLinks::start(GroupId group, double time) {
  if (unused.empty()) {
    unused.push_back(static_cast<int32_t>(moving.size()));
    moving.emplace_back();
  }
  int32_t index = unused.back();
  unused.pop_back();
  Moving &started = moving[index];
  started.group = group;
  started.share = 0;
  started.since = time;
  started.remaining = queues.groups[group].seconds;
  for (LinkId link : queues.getLinks(group)) {
    users[link].push_back(index);
    changed.push_back(link);
  }
  return index;
}

void SharedLinks::end(int32_t index) {
  ++moving[index].version;
  unused.push_back(index);
  for (LinkId link : queues.getLinks(moving[index].group)) {
    *llvm::find(users[link], index) = users[link].back();
    users[link].pop_back();
    changed.push_back(link);
  }
}

void SharedLinks::update(int32_t index, double time) {
  Moving &updated = moving[index];
  size_t share = 0;
  for (LinkId link : queues.getLinks(updated.group))
    share = std::max(share, users[link].size());
  if (updated.share == static_cast<int32_t>(share))
    return;
  if (updated.share != 0)
    updated.remaining = std::max(
        0.0, updated.remaining - (time - updated.since) / updated.share);
  updated.share = static_cast<int32_t>(share);
  updated.since = time;
  ++updated.version;
  push(ends,
       {time + queues.round(updated.remaining * static_cast<double>(share)),
        index, updated.version});
}

std::vector<SharedLinks::State> SharedLinks::getStates(double now) const {
  std::vector<State> states;
  for (const Moment &start : pending) {
    const Queues::Group &group = queues.groups[start.index];
    states.push_back(
        {group.firstParties[0], 0, start.time - now, group.seconds});
  }
  for (const Moment &end : ends) {
    const Moving &one = moving[end.index];
    if (end.version == one.version)
      states.push_back({queues.groups[one.group].firstParties[0], one.share,
                        one.since - now, one.remaining});
  }
  llvm::sort(states, [](const State &one, const State &other) {
    return one.queue < other.queue;
  });
  return states;
}

void SharedLinks::shift(double by,
                        llvm::function_ref<GroupId(GroupId)> getOther) {
  for (Moment &start : pending) {
    start.time += by;
    start.index = getOther(start.index);
  }
  for (Moment &end : ends) {
    end.time += by;
    Moving &one = moving[end.index];
    if (end.version != one.version)
      continue;
    one.since += by;
    one.group = getOther(one.group);
  }
}

void SharedLinks::dropStale() {
  while (!ends.empty() &&
         ends.front().version != moving[ends.front().index].version)
    pop(ends);
}

} // namespace mf::sim
