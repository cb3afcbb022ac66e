//===- Simulation.cpp - Queues in time ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Simulation.h"
#include "mf/Perf/EventEngine/Queues.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include <algorithm>
#include <optional>

using llvm::Twine;

namespace mf::events {

namespace {

/// Finds what each stuck queue waits for.
class WaitsFor {
public:
  WaitsFor(const Queues &queues, llvm::ArrayRef<int32_t> positions)
      : queues(queues), positions(positions),
        recordOfEvent(queues.getNumEvents()),
        missingOfGroup(queues.getNumGroups()) {
    for (QueueId queue = 0; queue < queues.getNumQueues(); ++queue) {
      for (int32_t index = positions[queue]; index < queues.getNumItems(queue);
           ++index) {
        ItemId item{queue, index};
        ItemKind kind = queues.getKind(item);
        if (kind == ItemKind::Record)
          recordOfEvent[queues.getOperand(item)] = item;
        else if (kind == ItemKind::Rendezvous && index > positions[queue])
          missingOfGroup[queues.getOperand(item)] = item;
      }
    }
  }

  bool stands(QueueId queue) const {
    return positions[queue] < queues.getNumItems(queue);
  }

  ItemId getItem(QueueId queue) const { return {queue, positions[queue]}; }
  /// Returns the item for which the queue's item waits, which is further back
  /// in that queue; none if nothing records the event.
  std::optional<ItemId> getAwaited(QueueId queue) const {
    ItemId item = getItem(queue);
    int32_t operand = queues.getOperand(item);
    return queues.getKind(item) == ItemKind::Wait ? recordOfEvent[operand]
                                                  : missingOfGroup[operand];
  }

private:
  const Queues &queues;
  llvm::ArrayRef<int32_t> positions;
  /// For each event and group, an item that has not been reached and records
  /// the event or joins the group.
  std::vector<std::optional<ItemId>> recordOfEvent, missingOfGroup;
};

std::string getNumberedName(ItemId item) {
  return ("item " + Twine(item.index) + " of queue " + Twine(item.queue)).str();
}

} // namespace

/// Returns the error for queues that are stuck at `positions`. At least one of
/// them must be before its end.
static llvm::Error
explainDeadlock(const Queues &queues, llvm::ArrayRef<int32_t> positions,
                llvm::function_ref<std::string(ItemId)> getName) {
  if (!getName)
    getName = getNumberedName;
  WaitsFor waits(queues, positions);
  QueueId queue = 0;
  while (!waits.stands(queue))
    ++queue;

  // Every stuck queue waits for another stuck queue, so following them leads
  // back to one already visited, unless an event is never recorded.
  std::vector<QueueId> path;
  while (!llvm::is_contained(path, queue)) {
    path.push_back(queue);
    std::optional<ItemId> awaited = waits.getAwaited(queue);
    if (!awaited) {
      ItemId item = waits.getItem(queue);
      return llvm::make_error<DeadlockError>(
          std::vector<ItemId>{item},
          getName(item) + " waits for an event that nothing records");
    }
    queue = awaited->queue;
  }
  path.erase(path.begin(), llvm::find(path, queue));

  std::string message = "deadlock: ";
  std::vector<ItemId> items;
  for (QueueId member : path) {
    ItemId item = waits.getItem(member);
    if (!items.empty())
      message += ", ";
    message +=
        getName(item) + " waits for " + getName(*waits.getAwaited(member));
    items.push_back(item);
  }
  return llvm::make_error<DeadlockError>(std::move(items), std::move(message));
}

llvm::Expected<Timeline>
simulate(const Queues &queues,
         llvm::function_ref<std::string(ItemId)> getName) {
  Simulation simulation(queues);
  skipPeriods(queues, simulation);
  simulation.run();
  for (QueueId queue = 0; queue < queues.getNumQueues(); ++queue)
    if (simulation.getPositions()[queue] != queues.getNumItems(queue))
      return explainDeadlock(queues, simulation.getPositions(), getName);
  return simulation.takeTimeline();
}

} // namespace mf::events
