//===- SharedLinks.h - Transfers that share links ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Processor sharing: each of n transfers that use a link gets an n-th of it,
// and a transfer moves at the speed of its smallest share. Work on devices is a
// transfer, too: it and the transfers that use a device slow each other.
// Changes at the same time are processed together: first all transfers that end
// leave their links, then those that start join theirs, then shares change.
// Thus nothing depends on the order of transfers or links. The duration of a
// transfer depends only on differences of times, so with a tick a shift in time
// changes no bit.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PERF_EVENTENGINE_SHAREDLINKS_H
#define MF_LIB_PERF_EVENTENGINE_SHAREDLINKS_H

#include "mf/Perf/EventEngine/Queues.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace mf::events {

/// The transfers that are about to move or are moving. Advances from one time
/// to the next at which a transfer starts to move or ends. Transfers that start
/// later must be added in order of time.
class SharedLinks {
public:
  explicit SharedLinks(const Queues &queues)
      : queues(queues), linkIsShared(queues.getNumLinks()),
        users(queues.getNumLinks()) {
    if (queues.getNumLinks() > 0)
      findSharedLinks();
  }

  /// Returns whether the transfer may share its links with others. Otherwise it
  /// takes as long as it does alone: it has no links, or each link has a queue
  /// that is part of all transfers over it.
  bool isShared(GroupId group) const {
    return llvm::any_of(queues.getLinks(group),
                        [&](LinkId link) { return linkIsShared[link]; });
  }

  /// Adds a transfer that has started at `time`, which is not before the last
  /// processed time.
  void add(GroupId group, double time) {
    const double latency = queues.groups[group].latency;
    if (latency > 0 && usesDevice(group))
      push(pending, {time, group, UsesDevices});
    else
      push(pending, {time + latency, group, Moves});
  }

  bool isIdle() const { return pending.empty() && ends.empty(); }
  /// Returns the time of the next starts and ends. The links must not be idle.
  double getNextTime() const {
    if (pending.empty())
      return ends.front().time;
    if (ends.empty())
      return pending.front().time;
    return std::min(pending.front().time, ends.front().time);
  }

  /// Processes all starts and ends of the next time and lists the transfers
  /// that end.
  void advance(std::vector<GroupId> &ended) {
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

  /// The state that determines how a transfer continues, identified by its
  /// first queue.
  struct State {
    QueueId queue = 0;
    /// The transfer's slowness. It is 0 before the transfer moves, and negative
    /// before it uses its devices.
    double slowness = 0;
    /// The time at which the transfer got its speed, or will start to move or
    /// to use its devices, relative to the time of the snapshot.
    double since = 0;
    double remaining = 0;

    bool operator==(const State &other) const {
      return queue == other.queue && slowness == other.slowness &&
             since == other.since && remaining == other.remaining;
    }
  };
  /// Returns the states of all transfers, by queue.
  std::vector<State> getStates(double now) const {
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
        states.push_back({queues.groups[one.group].firstParties[0],
                          one.slowness, one.since - now, one.remaining});
    }
    llvm::sort(states, [](const State &one, const State &other) {
      return one.queue < other.queue;
    });
    return states;
  }

  /// Continues at a later time, with other transfers in place of these.
  void shift(double by, llvm::function_ref<GroupId(GroupId)> getOther) {
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

private:
  /// A transfer that has started.
  struct Moving {
    GroupId group = 0;
    /// The factor by which the transfer takes longer than alone; 0 before it
    /// moves.
    double slowness = 0;
    double since = 0;
    /// The time that the transfer would still take alone.
    double remaining = 0;
    /// The number of times that its end has changed.
    uint32_t version = 0;
  };
  /// The start of a group, whose version is then a Start, or the end of a
  /// transfer. It is valid if its version is that of the transfer.
  struct Moment {
    double time;
    int32_t index;
    uint32_t version;
  };
  using MomentHeap = std::vector<Moment>;
  enum Start : uint32_t { Moves, UsesDevices };

  static bool isLater(const Moment &one, const Moment &other) {
    return one.time > other.time;
  }
  static void push(MomentHeap &heap, Moment moment) {
    heap.push_back(moment);
    std::push_heap(heap.begin(), heap.end(), isLater);
  }
  static Moment pop(MomentHeap &heap) {
    std::pop_heap(heap.begin(), heap.end(), isLater);
    Moment first = heap.back();
    heap.pop_back();
    return first;
  }

  /// Finds the links and devices that transfers share. A queue that is part of
  /// all transfers over a link lets only one of them start at a time, so the
  /// link is not shared; two queues of each transfer are checked. A device is
  /// shared by work and transfers.
  void findSharedLinks() {
    constexpr QueueId none = -1, any = -2;
    std::vector<std::array<QueueId, 2>> common(queues.getNumLinks(),
                                               {any, any});
    std::vector<std::array<bool, 2>> isUsed(queues.getNumLinks(),
                                            {false, false});
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

  bool usesDevice(GroupId group) const {
    return llvm::any_of(queues.getLinks(group),
                        [&](LinkId link) { return queues.isDevice(link); });
  }

  /// Adds a transfer to the users of its links, or of its devices.
  void use(int32_t index, bool devices) {
    for (LinkId link : queues.getLinks(moving[index].group))
      if (queues.isDevice(link) == devices) {
        users[link].push_back(index);
        changed.push_back(link);
      }
  }

  /// Returns the number of a new transfer.
  int32_t start(GroupId group) {
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

  /// Lets a transfer move. Returns false if it has nothing to move.
  bool move(GroupId group, double time) {
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

  /// Returns the number of the group's transfer if it uses its devices but does
  /// not move yet, and otherwise -1.
  int32_t findWaiting(GroupId group) const {
    for (LinkId link : queues.getLinks(group))
      if (queues.isDevice(link))
        for (int32_t user : users[link])
          if (moving[user].group == group)
            return user;
    return -1;
  }

  /// Frees the number of a transfer.
  void end(int32_t index) {
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

  double getSlowness(GroupId group) const {
    double byDevice = 1;
    size_t sharers = 1;
    for (LinkId link : queues.getLinks(group))
      if (queues.isDevice(link))
        byDevice = std::max(byDevice, getSlowness(group, link));
      else
        sharers = std::max(sharers, users[link].size());
    return static_cast<double>(sharers) * byDevice;
  }

  /// Returns the factor by which a user of the device takes longer.
  double getSlowness(GroupId group, LinkId device) const {
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

  /// Updates the speed of a transfer, from `time` on.
  void update(int32_t index, double time) {
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

  /// Removes invalid entries from the front of `ends`.
  void dropStale() {
    while (!ends.empty() &&
           ends.front().version != moving[ends.front().index].version)
      pop(ends);
  }

  const Queues &queues;
  std::vector<bool> linkIsShared;
  /// Heaps of moments, with the earliest one in front.
  MomentHeap pending, ends;
  std::vector<Moving> moving;
  std::vector<int32_t> unused;
  /// The transfers that use each link.
  std::vector<std::vector<int32_t>> users;
  /// Links whose number of users has changed.
  std::vector<LinkId> changed;
};

} // namespace mf::events

#endif // MF_LIB_PERF_EVENTENGINE_SHAREDLINKS_H
