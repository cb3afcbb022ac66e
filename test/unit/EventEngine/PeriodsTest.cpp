//===- PeriodsTest.cpp - Periods that are not simulated again -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Marked queues against the same queues without marks, of which all is
// simulated: all ends are the same, bit for bit.
//
//===----------------------------------------------------------------------===//

#include "RandomQueues.h"
#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>
#include <optional>

using namespace mf::events;

namespace {

constexpr double tick = 0x1p-30;

/// Items skipped; nothing if the queues deadlock.
std::optional<int64_t> compare(const QueuePlan &plan, const Numbers &numbers,
                               const std::string &what) {
  Queues marked = makeQueues(plan, numbers, tick);
  Queues plain = makeQueues(getUnmarked(plan), numbers, tick);
  llvm::Expected<Timeline> found = simulate(marked);
  llvm::Expected<Timeline> expected = simulate(plain);
  if (!expected) {
    EXPECT_EQ(llvm::toString(found.takeError()),
              llvm::toString(expected.takeError()))
        << what;
    return std::nullopt;
  }
  if (!found) {
    ADD_FAILURE() << what << ": " << llvm::toString(found.takeError());
    return std::nullopt;
  }
  EXPECT_EQ(expected->getNumSkipped(), 0);
  for (QueueId queue = 0; queue < plain.getNumQueues(); ++queue)
    for (int32_t index = 0; index < plain.getNumItems(queue); ++index)
      if (found->getEnd(ItemId{queue, index}) !=
          expected->getEnd(ItemId{queue, index})) {
        ADD_FAILURE() << what << ": item " << index << " of queue " << queue
                      << " ends at " << found->getEnd(ItemId{queue, index})
                      << ", expected "
                      << expected->getEnd(ItemId{queue, index});
        return std::nullopt;
      }
  EXPECT_EQ(found->getEnd(), expected->getEnd());
  return found->getNumSkipped();
}

int64_t countItems(const QueuePlan &plan) {
  return static_cast<int64_t>(getUnmarked(plan).history.size());
}

//===----------------------------------------------------------------------===//
// Pipelines
//===----------------------------------------------------------------------===//

/// 1F1B, each stage with a queue that computes and, in each direction, one that
/// sends over the links of both stages. Many that share links need not come to
/// a steady state, so from 5 stages on messages have links of their own.
class PipelinePlan {
public:
  PipelinePlan(int stages, int microBatches)
      : stages(stages), microBatches(microBatches) {
    plan.numQueues = 3 * stages;
    plan.numLinks = 3 * stages;
    // Events for each stage, phase and micro-batch: one when it is computed,
    // one when it arrives.
    plan.numEvents = 4 * stages * microBatches;
    for (int stage = 0; stage < stages; ++stage) {
      int warmUp = std::min(stages - stage - 1, microBatches);
      for (int number = 0; number < warmUp; ++number)
        addTask(stage, 0, number);
      for (int number = 0; number < microBatches; ++number) {
        if (number + warmUp < microBatches)
          addTask(stage, 0, number + warmUp);
        addTask(stage, 1, number);
      }
    }
  }

  const QueuePlan &get() const { return plan; }

private:
  int32_t getEvent(int what, int stage, int phase, int number) const {
    return ((what * 2 + phase) * stages + stage) * microBatches + number;
  }
  void add(int32_t queue, ItemKind kind, int32_t operand, double duration = 0) {
    plan.history.push_back({queue, kind, operand, duration});
  }
  void addTask(int stage, int phase, int number) {
    for (int queue = 0; queue < 3; ++queue)
      plan.history.push_back(
          {3 * stage + queue, ItemKind::Work, 0, 0, /*isMark=*/true});
    int from = phase == 0 ? stage - 1 : stage + 1;
    int to = phase == 0 ? stage + 1 : stage - 1;
    int32_t queue = 3 * stage;
    if (from >= 0 && from < stages)
      add(queue, ItemKind::Wait, getEvent(1, stage, phase, number));
    for (int kernel = 0; kernel < 3; ++kernel)
      add(queue, ItemKind::Work, 0, 0.1 * (phase + 1) + 0.01 * (stage % 3));
    add(queue, ItemKind::Record, getEvent(0, stage, phase, number));
    if (to < 0 || to >= stages)
      return;
    auto group = static_cast<int32_t>(plan.groups.size());
    int32_t sender = 3 * stage + 1 + phase;
    plan.groups.push_back({0.003, 0.15, {sender}});
    if (stages < 5)
      plan.groups.back().links = {stage, to};
    add(sender, ItemKind::Wait, getEvent(0, stage, phase, number));
    add(sender, ItemKind::Rendezvous, group);
    add(sender, ItemKind::Record, getEvent(1, to, phase, number));
  }

  int stages, microBatches;
  QueuePlan plan;
};

TEST(PeriodsTest, OneForwardOneBackward) {
  for (int stages : {1, 2, 3, 4, 8})
    for (int microBatches : {1, 2, 9, 64, 200}) {
      QueuePlan plan = PipelinePlan(stages, microBatches).get();
      std::string what = std::to_string(stages) + " stages, " +
                         std::to_string(microBatches) + " micro-batches";
      std::optional<int64_t> skipped =
          compare(plan, getPlainNumbers(plan), what);
      ASSERT_TRUE(skipped.has_value());
      if (microBatches == 200)
        EXPECT_GT(*skipped, countItems(plan) / 2) << what;
    }
}

TEST(PeriodsTest, WithoutATickAllIsSimulated) {
  QueuePlan plan = PipelinePlan(4, 100).get();
  llvm::Expected<Timeline> timeline =
      simulate(makeQueues(plan, getPlainNumbers(plan)));
  ASSERT_TRUE(static_cast<bool>(timeline));
  EXPECT_EQ(timeline->getNumSkipped(), 0);
}

/// All forwards and then all backwards.
TEST(PeriodsTest, SeveralPhases) {
  constexpr int microBatches = 100;
  QueuePlan plan;
  plan.numQueues = 2;
  plan.numEvents = 2 * microBatches;
  auto add = [&](int32_t queue, ItemKind kind, int32_t event, double duration) {
    plan.history.push_back({queue, kind, event, duration});
  };
  for (int32_t phase : {0, 1})
    for (int32_t number = 0; number < microBatches; ++number) {
      for (int32_t queue : {0, 1})
        plan.history.push_back({queue, ItemKind::Work, 0, 0, true});
      int32_t event = phase * microBatches + number;
      add(phase, ItemKind::Work, 0, 0.7 + phase);
      add(phase, ItemKind::Record, event, 0);
      add(1 - phase, ItemKind::Wait, event, 0);
      add(1 - phase, ItemKind::Work, 0, 0.7 + phase);
    }
  EXPECT_GT(*compare(plan, getPlainNumbers(plan), "phases"),
            countItems(plan) * 3 / 4);
}

/// The event that follows those of a run is recorded by another queue, before
/// the run comes to its end.
TEST(PeriodsTest, AnotherQueueRecordsWhatFollows) {
  constexpr int periods = 50;
  QueuePlan plan;
  plan.numQueues = 3;
  plan.numEvents = periods + 1;
  auto add = [&](int32_t queue, ItemKind kind, int32_t event, double duration) {
    plan.history.push_back({queue, kind, event, duration});
  };
  add(2, ItemKind::Record, periods, 0);
  for (int32_t period = 0; period < periods; ++period) {
    for (int32_t queue : {0, 1})
      plan.history.push_back({queue, ItemKind::Work, 0, 0, true});
    add(0, ItemKind::Record, period, 0);
    add(0, ItemKind::Work, 0, 0.7);
    add(1, ItemKind::Work, 0, 0.5);
    add(1, ItemKind::Wait, period + 1, 0);
  }
  EXPECT_GT(compare(plan, getPlainNumbers(plan), "follows").value_or(0),
            countItems(plan) / 2);
}

//===----------------------------------------------------------------------===//
// Random queues
//===----------------------------------------------------------------------===//

/// Something, then a period again and again, then something; beside it queues
/// that are not marked and meet the others now and then. Sometimes a period is
/// unlike the others.
class RandomPeriods {
public:
  explicit RandomPeriods(std::mt19937 &random) : random(random) {
    marked = draw(1, 4);
    plan.numQueues = marked + draw(0, 2);
    plan.numLinks = draw(0, 3);
    plan.numDevices = draw(0, plan.numLinks);
    numPeriods = draw(20, 60);
    addOnce(draw(0, 10));
    drawPeriod();
    int odd = draw(0, 2) == 0 ? draw(0, numPeriods) : -1;
    for (int period = 0; period < numPeriods; ++period) {
      addPeriod(period, period == odd);
      if (draw(0, numPeriods) == 0)
        addOnce(1);
    }
    addOnce(draw(0, 10));
  }

  const QueuePlan &get() const { return plan; }

private:
  /// An item of a period: an action of a queue, or a rendezvous of several.
  struct Step {
    ItemKind kind = ItemKind::Work;
    std::vector<int32_t> queues;
    /// For a wait: the step that records, and how many periods before.
    int record = 0, distance = 0;
    QueuePlan::Group costs;
    double duration = 0;
    int32_t device = -1;
  };

  int draw(int from, int to) {
    return std::uniform_int_distribution<int>(from, to)(random);
  }
  double drawTime() {
    return draw(0, 1) == 0 ? draw(0, 5)
                           : std::uniform_real_distribution<>(0, 5)(random);
  }
  mf::events::SpeedsOnDevices drawSpeeds() {
    return {draw(1, 4) / 4.0, draw(1, 4) / 4.0};
  }
  std::vector<int32_t> drawLinks() {
    std::vector<int32_t> links;
    for (int32_t link = 0; link < plan.numLinks; ++link)
      if (draw(0, 1) == 0)
        links.push_back(link);
    return links;
  }
  void add(int32_t queue, ItemKind kind, int32_t operand, double duration = 0) {
    plan.history.push_back({queue, kind, operand, duration});
  }
  int32_t addGroup(const QueuePlan::Group &costs) {
    plan.groups.push_back(costs);
    return static_cast<int32_t>(plan.groups.size()) - 1;
  }

  /// Things of any queues.
  void addOnce(int steps) {
    for (int step = 0; step < steps; ++step) {
      int32_t queue = draw(0, plan.numQueues - 1);
      int32_t other = draw(0, plan.numQueues - 1);
      if (draw(0, 1) == 0) {
        add(queue, ItemKind::Work, 0, drawTime());
        int32_t event = plan.numEvents++;
        add(queue, ItemKind::Record, event);
        add(other, ItemKind::Wait, event);
      } else {
        int32_t group =
            addGroup({drawTime(), drawTime(), drawLinks(), drawSpeeds()});
        add(queue, ItemKind::Rendezvous, group);
        if (other != queue)
          add(other, ItemKind::Rendezvous, group);
      }
    }
  }

  void drawPeriod() {
    for (int number = draw(2, 16); number > 0; --number) {
      Step step;
      step.queues = {draw(0, marked - 1)};
      step.duration = drawTime();
      if (plan.numDevices > 0 && draw(0, 1) == 0)
        step.device = plan.numLinks - draw(1, plan.numDevices);
      switch (draw(0, 4)) {
      case 0:
      case 1:
        break;
      case 2:
        step.kind = ItemKind::Record;
        break;
      case 3: {
        std::vector<int> records;
        for (size_t index = 0; index < steps.size(); ++index)
          if (steps[index].kind == ItemKind::Record)
            records.push_back(static_cast<int>(index));
        if (records.empty())
          break;
        step.kind = ItemKind::Wait;
        step.record = records[draw(0, static_cast<int>(records.size()) - 1)];
        // Some wait for what comes, as stages behind one another do.
        step.distance = draw(0, 3) == 0 ? draw(-2, 9) : draw(0, 2);
        break;
      }
      default:
        step.kind = ItemKind::Rendezvous;
        step.costs = {drawTime() / 4, drawTime(), drawLinks(), drawSpeeds()};
        for (int32_t queue = 0; queue < marked; ++queue)
          if (queue != step.queues[0] && draw(0, 1) == 0)
            step.queues.push_back(queue);
      }
      steps.push_back(step);
    }
    firstEvent = plan.numEvents;
    plan.numEvents += numPeriods * static_cast<int32_t>(steps.size());
  }

  void addPeriod(int period, bool isOdd) {
    for (int32_t queue = 0; queue < marked; ++queue)
      plan.history.push_back({queue, ItemKind::Work, 0, 0, true});
    auto getEvent = [&](int ofPeriod, size_t step) {
      return firstEvent + ofPeriod * static_cast<int32_t>(steps.size()) +
             static_cast<int32_t>(step);
    };
    for (auto [number, step] : llvm::enumerate(steps)) {
      if (step.kind == ItemKind::Work) {
        add(step.queues[0], step.kind, 0, isOdd ? drawTime() : step.duration);
        plan.history.back().device = step.device;
      } else if (step.kind == ItemKind::Record) {
        add(step.queues[0], step.kind, getEvent(period, number));
        // Somebody else may be waiting for just this one.
        if (marked < plan.numQueues && draw(0, 3 * numPeriods) == 0)
          add(plan.numQueues - 1, ItemKind::Wait, getEvent(period, number));
      } else if (step.kind == ItemKind::Wait) {
        int awaited = period - step.distance;
        if (awaited >= 0 && awaited < numPeriods)
          add(step.queues[0], step.kind, getEvent(awaited, step.record));
      } else {
        int32_t group = addGroup(step.costs);
        if (isOdd && draw(0, 1) == 0)
          plan.groups.back().seconds = drawTime();
        for (int32_t queue : step.queues)
          add(queue, step.kind, group);
      }
    }
  }

  std::mt19937 &random;
  QueuePlan plan;
  int32_t marked = 0;
  int numPeriods = 0;
  int32_t firstEvent = 0;
  std::vector<Step> steps;
};

TEST(PeriodsTest, RandomPeriodsAsSimulated) {
  std::mt19937 random(17);
  int64_t items = 0, skipped = 0, rounds = 0, deadlocks = 0;
  for (int round = 0; round < 3000; ++round) {
    QueuePlan plan = RandomPeriods(random).get();
    Numbers numbers = getPlainNumbers(plan);
    if (round % 2 == 1) {
      // Groups and events have to go on in equal steps.
      Numbers other = getRandomNumbers(plan, random);
      numbers.queues = other.queues;
      numbers.links = other.links;
    }
    std::optional<int64_t> found =
        compare(plan, numbers, "round " + std::to_string(round));
    if (!found) {
      ++deadlocks;
      continue;
    }
    items += countItems(plan);
    skipped += *found;
    rounds += *found > 0 ? 1 : 0;
  }
  EXPECT_GT(deadlocks, 50);
  EXPECT_GT(rounds, 1000);
  EXPECT_GT(skipped, items / 4);
}

} // namespace
