//===- Queues.h - Simulation of queues in time ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Computes when items run on queues that work in order, such as the stages of a
// pipeline, the streams of a device or the ranks of a collective. Queues wait
// for one another by events and by rendezvous, and share links. This library
// does not depend on MLIR, schedules or a unit of time.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PERF_EVENTENGINE_QUEUES_H
#define MF_PERF_EVENTENGINE_QUEUES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace mf::events {

using QueueId = int32_t;
using EventId = int32_t;
using GroupId = int32_t;
using LinkId = int32_t;

/// An item, identified by its queue and its index on that queue.
struct ItemId {
  QueueId queue = 0;
  int32_t index = 0;

  bool operator==(const ItemId &other) const {
    return queue == other.queue && index == other.index;
  }
};

enum class ItemKind : uint8_t { Work, Wait, Record, Rendezvous };

/// The effect of a transfer and the work on its devices on each other, as
/// shares of the speeds that each has alone. If several transfers use a device,
/// its work has the smallest of their speeds.
struct SpeedsOnDevices {
  double ofWork = 1;
  double ofTransfer = 1;

  bool operator==(const SpeedsOnDevices &other) const {
    return ofWork == other.ofWork && ofTransfer == other.ofTransfer;
  }
};

/// Queues and their items. A queue starts an item when the previous one has
/// ended. Its first item starts at time 0.
class Queues {
public:
  /// Durations are rounded to multiples of `tick`, a power of two, or not at
  /// all if it is 0. With a tick, all times below 2^53 ticks are exact, so that
  /// shifting a simulation in time changes no bit of it.
  explicit Queues(double tick = 0) : tick(tick), rounder(tick * 0x1.8p52) {}

  QueueId addQueue();
  /// Adds events with consecutive ids and returns the first id. An event
  /// happens once.
  EventId addEvents(int32_t count = 1);
  /// Adds a rendezvous of the items that join it, each on another queue. They
  /// all end `duration` after the last of them has started.
  GroupId addGroup(double duration);

  /// Adds a resource that transfers share, such as a network port.
  LinkId addLink() {
    isOfDevice.push_back(false);
    return getNumLinks() - 1;
  }
  /// Adds a device, on which work and transfers slow each other down. Transfers
  /// list it among their links, but do not share it as they share links.
  LinkId addDevice() {
    isOfDevice.push_back(true);
    return getNumLinks() - 1;
  }
  /// Adds a rendezvous that transfers data over links. After the last item has
  /// started, it lasts for `latency` without using links, and then for
  /// `seconds` if nothing else uses its links. Transfers that use a link at the
  /// same time share it equally, and each runs at the speed of its slowest
  /// link. `speeds` count on the devices among the links, which it uses during
  /// the latency, too.
  GroupId addTransfer(double latency, double seconds,
                      llvm::ArrayRef<LinkId> links,
                      SpeedsOnDevices speeds = {});

  /// Adds an item that occupies the queue for `duration`.
  ItemId addWork(QueueId queue, double duration) {
    std::vector<double> &durations = queues[queue].durations;
    durations.push_back(round(duration));
    return add(queue, ItemKind::Work, durations.size() - 1);
  }
  /// Adds an item of work that takes `duration` while no transfer uses the
  /// device. It is a rendezvous of the queue alone.
  ItemId addWork(QueueId queue, double duration, LinkId device);
  /// Adds an item that holds the queue until the event has happened.
  ItemId addWait(QueueId queue, EventId event) {
    return add(queue, ItemKind::Wait, event);
  }
  /// Adds an item at which the event happens.
  ItemId addRecord(QueueId queue, EventId event) {
    return add(queue, ItemKind::Record, event);
  }
  /// Adds an item that holds the queue until the rendezvous, which may be a
  /// transfer, is over.
  ItemId addRendezvous(QueueId queue, GroupId group) {
    Group &joined = groups[group];
    if (joined.size < 2)
      joined.firstParties[joined.size] = queue;
    ++joined.size;
    return add(queue, ItemKind::Rendezvous, group);
  }

  /// Hints that the actions of the queues may repeat from here on. All marked
  /// queues must have the same number of marks per period. With a tick, long
  /// runs of equal periods are then skipped by the simulation (docs/engine.md).
  void markPeriod(QueueId queue) {
    queues[queue].marks.push_back(getNumItems(queue));
  }

  /// Reserves memory in a queue.
  void reserve(QueueId queue, size_t items, size_t works);

  int32_t getNumQueues() const { return static_cast<int32_t>(queues.size()); }
  int32_t getNumItems(QueueId queue) const {
    return static_cast<int32_t>(queues[queue].codes.size());
  }
  int32_t getNumEvents() const { return numEvents; }
  int32_t getNumGroups() const { return static_cast<int32_t>(groups.size()); }
  int32_t getNumLinks() const {
    return static_cast<int32_t>(isOfDevice.size());
  }
  bool isDevice(LinkId link) const { return isOfDevice[link]; }

  ItemKind getKind(ItemId item) const {
    return static_cast<ItemKind>(getCode(item) & kindMask);
  }
  /// Returns the event or group of an item that is not work.
  int32_t getOperand(ItemId item) const {
    return static_cast<int32_t>(getCode(item) >> kindBits);
  }
  /// Returns the duration of work; for a rendezvous, the duration after its
  /// start if nothing else uses its links; 0 for other items.
  double getDuration(ItemId item) const;
  int32_t getGroupSize(GroupId group) const { return groups[group].size; }
  llvm::ArrayRef<LinkId> getLinks(GroupId group) const {
    return llvm::ArrayRef(links).slice(groups[group].firstLink,
                                       groups[group].numLinks);
  }
  double getTick() const { return tick; }
  /// Rounds to the nearest tick.
  double round(double duration) const {
    // The sum has no bits below a tick.
    return (duration + rounder) - rounder;
  }

private:
  friend class Simulation;
  friend class SharedLinks;
  friend class RunFinder;
  friend class SteadyState;

  /// The low bits of a code are the item's kind. The other bits are the index
  /// of its duration in the queue, its event or its group.
  static constexpr uint32_t kindBits = 2, kindMask = 3;
  struct Queue {
    std::vector<uint32_t> codes;
    std::vector<double> durations;
    /// The indices of the items before which the queue is marked.
    std::vector<int32_t> marks;
  };
  /// A rendezvous. Without links, `latency` is its whole duration.
  struct Group {
    double latency = 0;
    double seconds = 0;
    int32_t size = 0;
    int32_t firstLink = 0;
    int32_t numLinks = 0;
    std::array<QueueId, 2> firstParties = {-1, -1};
    /// True if the rendezvous is work on a device.
    bool isWork = false;
    SpeedsOnDevices speeds;
  };

  ItemId add(QueueId queue, ItemKind kind, uint32_t operand) {
    std::vector<uint32_t> &codes = queues[queue].codes;
    codes.push_back(operand << kindBits | static_cast<uint32_t>(kind));
    return {queue, static_cast<int32_t>(codes.size()) - 1};
  }
  uint32_t getCode(ItemId item) const {
    return queues[item.queue].codes[item.index];
  }

  double tick = 0;
  double rounder = 0;
  std::vector<Queue> queues;
  int32_t numEvents = 0;
  /// For each link, whether it is a device.
  std::vector<bool> isOfDevice;
  std::vector<Group> groups;
  /// The links of all groups, concatenated.
  std::vector<LinkId> links;
};

/// The start and end times of the items. An item that waits starts when its
/// queue reaches it, and ends when the event or rendezvous that it waits for is
/// over.
class Timeline {
public:
  double getStart(ItemId item) const {
    return item.index == 0 ? 0 : getEnd({item.queue, item.index - 1});
  }
  double getEnd(ItemId item) const {
    const Queue &queue = queues[item.queue];
    return queue.skips.empty() ? queue.ends[item.index]
                               : getEnd(queue, item.index);
  }
  /// Returns the end of the last item of a queue; 0 for an empty queue.
  double getEnd(QueueId queue) const {
    return queues[queue].size == 0 ? 0
                                   : getEnd({queue, queues[queue].size - 1});
  }
  /// Returns the end of the last item of all queues.
  double getEnd() const;
  /// Returns the number of items that were not simulated because they repeat
  /// others.
  int64_t getNumSkipped() const;

private:
  friend class Simulation;

  /// Represents `count` repetitions of the `items` items before `first`, each
  /// `shift` later than the one before.
  struct Skip {
    int32_t first = 0;
    int32_t items = 0;
    int32_t count = 0;
    double shift = 0;

    int32_t getNumItems() const { return items * count; }
  };
  struct Queue {
    int32_t size = 0;
    /// The end times of the items that were simulated.
    llvm::SmallVector<double, 0> ends;
    /// The skips in the order of the queue.
    std::vector<Skip> skips;
  };

  static double getEnd(const Queue &queue, int32_t index);

  std::vector<Queue> queues;
};

/// An error about queues that wait for one another forever, or for an event
/// that never happens.
class DeadlockError : public llvm::ErrorInfo<DeadlockError> {
public:
  // NOLINTNEXTLINE(readability-identifier-naming): as LLVM asks for
  static char ID;
  DeadlockError(std::vector<ItemId> items, std::string text)
      : items(std::move(items)), text(std::move(text)) {}

  /// Returns the items at which queues are stuck. Each waits for the queue of
  /// the next item, and the last one for that of the first. A single item waits
  /// for its own queue or for an event that nothing records.
  llvm::ArrayRef<ItemId> getItems() const { return items; }
  void log(llvm::raw_ostream &os) const override { os << text; }
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }

private:
  std::vector<ItemId> items;
  std::string text;
};

/// Simulates all queues in time linear in their items. The result does not
/// depend on the ids of queues, events, groups and links. Durations must be
/// finite and not negative. Fails with a DeadlockError if a queue does not
/// reach its end. `getName` names items in that error (default: `item 3 of
/// queue 0`).
llvm::Expected<Timeline>
simulate(const Queues &queues,
         llvm::function_ref<std::string(ItemId)> getName = nullptr);

} // namespace mf::events

#endif // MF_PERF_EVENTENGINE_QUEUES_H
