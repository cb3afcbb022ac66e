//===- Queues.h - Simulation of queues in time ------------------*- C++ -*-===//
//
// Computes what runs when on queues that work in order, such as the
// stages of a pipeline, the streams of a device or the ranks of a collective.
// Queues wait for one another by events and by rendezvous, and share links.
// Knows no MLIR, no schedules and no unit of time.
//
//===----------------------------------------------------------------------===//

#ifndef MF_SIM_LINES_H
#define MF_SIM_LINES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace mf::sim {

using QueueId = int32_t;
using EventId = int32_t;
using GroupId = int32_t;
using LinkId = int32_t;

/// An item by the queue it is on and its number there.
struct ItemId {
  QueueId queue = 0;
  int32_t index = 0;

  bool operator==(const ItemId &other) const {
    return queue == other.queue && index == other.index;
  }
};

enum class ItemKind : uint8_t { Work, Wait, Record, Rendezvous };

/// Queues and their items. A queue starts an item when the one before it has
/// ended; the first starts at time 0.
class Queues {
public:
  /// Durations are rounded to multiples of `tick`, a power of two, or kept as
  /// they are if it is 0. With a tick all times are exact as long as they are
  /// less than 2^53 ticks: shifting a simulation in time changes no bit of it.
  explicit Queues(double tick = 0) : tick(tick), rounder(tick * 0x1.8p52) {}

  QueueId addQueue();
  /// Adds events, numbered from the one returned. An event happens once.
  EventId addEvents(int32_t count = 1);
  /// A rendezvous of the items that join it, each in a queue of its own: they
  /// end together, `duration` after the last of them has started.
  GroupId addGroup(double duration);

  /// Something that transfers share, such as a network port.
  LinkId addLink() { return numLinks++; }
  /// A rendezvous that moves something over links. When the last item has
  /// started it lasts `latency`, in which it uses no link, and then moves for
  /// `seconds` if nothing else uses its links meanwhile. Transfers that use a
  /// link at the same time have equal shares of it; each moves as fast as the
  /// smallest of its shares lets it.
  GroupId addTransfer(double latency, double seconds,
                      llvm::ArrayRef<LinkId> links);

  /// Occupies the queue for `duration`.
  ItemId addWork(QueueId queue, double duration) {
    std::vector<double> &durations = queues[queue].durations;
    durations.push_back(round(duration));
    return add(queue, ItemKind::Work, durations.size() - 1);
  }
  /// Holds the queue until the event has happened.
  ItemId addWait(QueueId queue, EventId event) {
    return add(queue, ItemKind::Wait, event);
  }
  /// The event happens when the queue gets here.
  ItemId addRecord(QueueId queue, EventId event) {
    return add(queue, ItemKind::Record, event);
  }
  /// Holds the queue until the rendezvous, which may be a transfer, is over.
  ItemId addRendezvous(QueueId queue, GroupId group) {
    Group &joined = groups[group];
    if (joined.size < 2)
      joined.firstParties[joined.size] = queue;
    ++joined.size;
    return add(queue, ItemKind::Rendezvous, group);
  }

  /// A hint that what the queues do may repeat from here on: all marked queues
  /// have as many marks in a period. Long runs of equal periods are then not
  /// simulated again if there is a tick (docs/engine.md).
  void markPeriod(QueueId queue) {
    queues[queue].marks.push_back(getNumItems(queue));
  }

  /// Makes room in a queue.
  void reserve(QueueId queue, size_t items, size_t works);

  int32_t getNumQueues() const { return static_cast<int32_t>(queues.size()); }
  int32_t getNumItems(QueueId queue) const {
    return static_cast<int32_t>(queues[queue].codes.size());
  }
  int32_t getNumEvents() const { return numEvents; }
  int32_t getNumGroups() const { return static_cast<int32_t>(groups.size()); }
  int32_t getNumLinks() const { return numLinks; }

  ItemKind getKind(ItemId item) const {
    return static_cast<ItemKind>(getCode(item) & kindMask);
  }
  /// The event or group of an item that is no work.
  int32_t getOperand(ItemId item) const { return getCode(item) >> kindBits; }
  /// The duration of work, or of a rendezvous once it has begun, with links for
  /// itself; 0 otherwise.
  double getDuration(ItemId item) const;
  int32_t getGroupSize(GroupId group) const { return groups[group].size; }
  llvm::ArrayRef<LinkId> getLinks(GroupId group) const {
    return llvm::ArrayRef(links).slice(groups[group].firstLink,
                                       groups[group].numLinks);
  }
  double getTick() const { return tick; }
  /// To the nearest tick.
  double round(double duration) const {
    // The sum has no bits below a tick.
    return (duration + rounder) - rounder;
  }

private:
  friend class Simulation;
  friend class SharedLinks;
  friend class RunFinder;
  friend class SteadyState;

  /// A code is the kind, and above it the number of the duration in its queue,
  /// the event or the group.
  static constexpr uint32_t kindBits = 2, kindMask = 3;
  struct Queue {
    std::vector<uint32_t> codes;
    std::vector<double> durations;
    /// The items before which the queue is marked.
    std::vector<int32_t> marks;
  };
  /// `latency` is all of a rendezvous without links.
  struct Group {
    double latency = 0;
    double seconds = 0;
    int32_t size = 0;
    int32_t firstLink = 0;
    int32_t numLinks = 0;
    std::array<QueueId, 2> firstParties = {-1, -1};
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
  int32_t numLinks = 0;
  std::vector<Group> groups;
  /// The links of all groups, one group after the other.
  std::vector<LinkId> links;
};

/// When the items of the queues start and end. An item that waits starts when
/// its queue gets to it and ends when what it waits for is over.
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
  /// The end of the last item of a queue; 0 for an empty one.
  double getEnd(QueueId queue) const {
    return queues[queue].size == 0 ? 0
                                   : getEnd({queue, queues[queue].size - 1});
  }
  /// The end of everything.
  double getEnd() const;
  /// How many items were not simulated since they repeat others.
  int64_t getNumSkipped() const;

private:
  friend class Simulation;

  /// `count` times the `items` items before `first`, each time `shift` later.
  struct Skip {
    int32_t first = 0;
    int32_t items = 0;
    int32_t count = 0;
    double shift = 0;

    int32_t getNumItems() const { return items * count; }
  };
  struct Queue {
    int32_t size = 0;
    /// The ends of the items that were simulated.
    llvm::SmallVector<double, 0> ends;
    /// In the order of the queue.
    std::vector<Skip> skips;
  };

  static double getEnd(const Queue &queue, int32_t index);

  std::vector<Queue> queues;
};

/// Queues that wait for one another for ever, or for what never comes.
class DeadlockError : public llvm::ErrorInfo<DeadlockError> {
public:
  // NOLINTNEXTLINE(readability-identifier-naming): as LLVM asks for
  static char ID;
  DeadlockError(std::vector<ItemId> items, std::string text)
      : items(std::move(items)), text(std::move(text)) {}

  /// Items at which queues stand: each waits for the queue of the next, and the
  /// last for that of the first. A single one waits for itself or for an event
  /// that nothing records.
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
/// depend on the numbers of queues, events, groups and links. Durations are
/// finite and not negative. A DeadlockError if queues do not come to their
/// ends; `getName` names items for it (default: `item 3 of queue 0`).
llvm::Expected<Timeline>
simulate(const Queues &queues,
         llvm::function_ref<std::string(ItemId)> getName = nullptr);

} // namespace mf::sim

#endif // MF_SIM_LINES_H
