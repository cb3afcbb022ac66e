//===- SharedLinks.h - Transfers that share links ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Processor sharing: each of n transfers that use a link gets an n-th of it,
// and a transfer moves at the speed of its smallest share. Work on devices is a
// transfer, too: it and the transfers that use a device slow each other.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PERF_EVENTENGINE_SHAREDLINKS_H
#define MF_LIB_PERF_EVENTENGINE_SHAREDLINKS_H

#include "mf/Perf/EventEngine/Queues.h"

namespace mf::events {

/// The transfers that are about to move or are moving. Advances from one time
/// to the next at which a transfer starts to move or ends. Transfers that start
/// later must be added in order of time.
class SharedLinks {
public:
  explicit SharedLinks(const Queues &queues);

  /// Returns whether the transfer may share its links with others. Otherwise it
  /// takes as long as it does alone: it has no links, or each link has a queue
  /// that is part of all transfers over it.
  bool isShared(GroupId group) const;

  /// Adds a transfer that has started at `time`, which is not before the last
  /// processed time.
  void add(GroupId group, double time);
  bool isIdle() const { return pending.empty() && ends.empty(); }
  /// Returns the time of the next starts and ends. The links must not be idle.
  double getNextTime() const;
  /// Processes all starts and ends of the next time and lists the transfers
  /// that end.
  void advance(std::vector<GroupId> &ended);

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
  std::vector<State> getStates(double now) const;
  /// Continues at a later time, with other transfers in place of these.
  void shift(double by, llvm::function_ref<GroupId(GroupId)> getOther);

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
  static void push(MomentHeap &heap, Moment moment);
  static Moment pop(MomentHeap &heap);

  void findSharedLinks();
  bool usesDevice(GroupId group) const;
  /// Adds a transfer to the users of its links, or of its devices.
  void use(int32_t moving, bool devices);
  /// Returns the number of a new transfer.
  int32_t start(GroupId group);
  /// Lets a transfer move. Returns false if it has nothing to move.
  bool move(GroupId group, double time);
  /// Returns the number of the group's transfer if it uses its devices but does
  /// not move yet, and otherwise -1.
  int32_t findWaiting(GroupId group) const;
  /// Frees the number of a transfer.
  void end(int32_t moving);
  double getSlowness(GroupId group) const;
  /// Returns the factor by which a user of the device takes longer.
  double getSlowness(GroupId group, LinkId device) const;
  /// Updates the speed of a transfer, from `time` on.
  void update(int32_t moving, double time);
  /// Removes invalid entries from the front of `ends`.
  void dropStale();

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
