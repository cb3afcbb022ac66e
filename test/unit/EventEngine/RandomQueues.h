//===- RandomQueues.h - Queues for property tests ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_EVENTENGINE_RANDOMQUEUES_H
#define MF_TEST_UNIT_EVENTENGINE_RANDOMQUEUES_H

#include "mf/Perf/EventEngine/Queues.h"
#include <random>

/// Queues as a list of what is added to them, so that they can be added under
/// other numbers.
struct QueuePlan {
  struct Action {
    int32_t queue;
    mf::events::ItemKind kind;
    /// Event or group.
    int32_t operand;
    double duration;
    /// Marks the queue instead.
    bool isMark = false;
    /// Where work runs: a link that is a device, or -1.
    int32_t device = -1;
  };
  struct Group {
    double latency, seconds;
    std::vector<int32_t> links;
    mf::events::SpeedsOnDevices speeds = {};
  };

  bool isDevice(int32_t link) const { return link >= numLinks - numDevices; }

  int32_t numQueues = 0, numEvents = 0, numLinks = 0;
  /// The last of the links.
  int32_t numDevices = 0;
  std::vector<Group> groups;
  /// In an order in which they can take place.
  std::vector<Action> history;
};

/// A few queues that come to their ends. Durations are small whole numbers if
/// `isWhole`, so that much falls on the same time.
QueuePlan makeRandomPlan(std::mt19937 &random, int steps, bool isWhole);

/// The numbers of a plan's queues, events, groups and links.
struct Numbers {
  std::vector<int32_t> queues, events, groups, links;
};

Numbers getPlainNumbers(const QueuePlan &plan);
Numbers getRandomNumbers(const QueuePlan &plan, std::mt19937 &random);

mf::events::Queues makeQueues(const QueuePlan &plan, const Numbers &numbers,
                              double tick = 0);

/// The plan without its marks.
QueuePlan getUnmarked(QueuePlan plan);

#endif // MF_TEST_UNIT_EVENTENGINE_RANDOMQUEUES_H
