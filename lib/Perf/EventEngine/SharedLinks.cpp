//===- SharedLinks.cpp - Transfers that share links -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
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

namespace mf::events {

SharedLinks::SharedLinks(const Queues &queues)
    : queues(queues), linkIsShared(queues.getNumLinks()),
      users(queues.getNumLinks()) {
  if (queues.getNumLinks() > 0)
    findSharedLinks();
}

/// Finds the links and devices that transfers share. A queue that is part of
/// all transfers over a link lets only one of them start at a time, so the link
/// is not shared; two queues of each transfer are checked. A device is shared
/// by work and transfers.
void SharedLinks::findSharedLinks() {
  constexpr QueueId none = -1, any = -2;
  std::vector<std::array<QueueId, 2>> common(queues.getNumLinks(), {any, any});
  std::vector<std::array<bool, 2>> isUsed(queues.getNumLinks(), {false, false});
  for (GroupId group = 0; group < queues.getNumGroups(); ++group) {
    const std::array<QueueId, 2> &parties = queues.groups[group].firstParties;
    for (LinkId link : queues.getLinks(group)) {
      isUsed[link][queues.groups[group].isWork ? 1 : 0] = true;
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
    linkIsShared[link] = queues.isDevice(static_cast<LinkId>(link))
                             ? isUsed[link][0] && isUsed[link][1]
                             : ofLink[0] == none && ofLink[1] == none;
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

bool SharedLinks::usesDevice(GroupId group) const {
  return llvm::any_of(queues.getLinks(group),
                      [&](LinkId link) { return queues.isDevice(link); });
}

void SharedLinks::add(GroupId group, double time) {
  const double latency = queues.groups[group].latency;
  if (latency > 0 && usesDevice(group))
    push(pending, {time, group, UsesDevices});
  else
    push(pending, {time + latency, group, Moves});
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
    const Moment next = pop(pending);
    const GroupId group = next.index;
    if (next.version == UsesDevices) {
      use(start(group), /*devices=*/true);
      push(pending, {time + queues.groups[group].latency, group, Moves});
    } else if (!move(group, time)) {
      ended.push_back(group);
    }
  }
  for (LinkId link : changed)
    for (int32_t user : users[link])
      update(user, time);
  changed.clear();
  dropStale();
}

void SharedLinks::use(int32_t index, bool devices) {
  for (LinkId link : queues.getLinks(moving[index].group))
    if (queues.isDevice(link) == devices) {
      users[link].push_back(index);
      changed.push_back(link);
    }
}

int32_t SharedLinks::start(GroupId group) {
  if (unused.empty()) {
    unused.push_back(static_cast<int32_t>(moving.size()));
    moving.emplace_back();
  }
  int32_t index = unused.back();
  unused.pop_back();
  moving[index].group = group;
  moving[index].slowness = 0;
  moving[index].remaining = 0;
  return index;
}

bool SharedLinks::move(GroupId group, double time) {
  int32_t index = findWaiting(group);
  // A transfer of no bytes is not in the way of others.
  if (queues.groups[group].seconds == 0) {
    if (index >= 0)
      end(index);
    return false;
  }
  if (index < 0) {
    index = start(group);
    use(index, /*devices=*/true);
  }
  use(index, /*devices=*/false);
  moving[index].since = time;
  moving[index].remaining = queues.groups[group].seconds;
  // Its devices have not changed if it used them before.
  llvm::append_range(changed, queues.getLinks(group));
  return true;
}

int32_t SharedLinks::findWaiting(GroupId group) const {
  for (LinkId link : queues.getLinks(group))
    if (queues.isDevice(link))
      for (int32_t user : users[link])
        if (moving[user].group == group)
          return user;
  return -1;
}

void SharedLinks::end(int32_t index) {
  ++moving[index].version;
  unused.push_back(index);
  for (LinkId link : queues.getLinks(moving[index].group)) {
    auto found = llvm::find(users[link], index);
    // Before a transfer moves, it only uses its devices.
    if (found == users[link].end())
      continue;
    *found = users[link].back();
    users[link].pop_back();
    changed.push_back(link);
  }
}

double SharedLinks::getSlowness(GroupId group, LinkId device) const {
  const Queues::Group &self = queues.groups[group];
  double speed = 1;
  for (int32_t user : users[device]) {
    const Queues::Group &other = queues.groups[moving[user].group];
    if (self.isWork && !other.isWork)
      speed = std::min(speed, other.speeds.ofWork);
    else if (!self.isWork && other.isWork)
      speed = std::min(speed, self.speeds.ofTransfer);
  }
  return 1 / speed;
}

double SharedLinks::getSlowness(GroupId group) const {
  double byDevice = 1;
  size_t sharers = 1;
  for (LinkId link : queues.getLinks(group))
    if (queues.isDevice(link))
      byDevice = std::max(byDevice, getSlowness(group, link));
    else
      sharers = std::max(sharers, users[link].size());
  return static_cast<double>(sharers) * byDevice;
}

void SharedLinks::update(int32_t index, double time) {
  Moving &updated = moving[index];
  // The transfer does not move yet.
  if (updated.remaining == 0)
    return;
  const double slowness = getSlowness(updated.group);
  if (updated.slowness == slowness)
    return;
  if (updated.slowness != 0)
    updated.remaining = std::max(
        0.0, updated.remaining - (time - updated.since) / updated.slowness);
  updated.slowness = slowness;
  updated.since = time;
  ++updated.version;
  // Work that a transfer stops has an infinite slowness, of which no product
  // with 0 exists.
  const double left =
      updated.remaining == 0 ? 0 : queues.round(updated.remaining * slowness);
  push(ends, {time + left, index, updated.version});
}

std::vector<SharedLinks::State> SharedLinks::getStates(double now) const {
  std::vector<State> states;
  for (const Moment &start : pending) {
    const Queues::Group &group = queues.groups[start.index];
    states.push_back({group.firstParties[0],
                      start.version == UsesDevices ? -1.0 : 0.0,
                      start.time - now, group.seconds});
  }
  for (const Moment &end : ends) {
    const Moving &one = moving[end.index];
    if (end.version == one.version)
      states.push_back({queues.groups[one.group].firstParties[0], one.slowness,
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
    const int32_t waiting = findWaiting(start.index);
    start.time += by;
    start.index = getOther(start.index);
    if (waiting >= 0)
      moving[waiting].group = start.index;
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

} // namespace mf::events
