//===- CriticalPathTest.cpp - What the end waits for ----------------------===//

#include "mf/Perf/EventEngine/CriticalPath.h"
#include "RandomLines.h"
#include <gtest/gtest.h>

using namespace mf::sim;

namespace {

std::vector<PathStep> find(const Lines &lines) {
  llvm::Expected<Timeline> timeline = simulate(lines);
  EXPECT_TRUE(static_cast<bool>(timeline))
      << llvm::toString(timeline.takeError());
  return timeline ? findCriticalPath(lines, *timeline)
                  : std::vector<PathStep>();
}

void expectSteps(llvm::ArrayRef<PathStep> found,
                 llvm::ArrayRef<PathStep> expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t index = 0; index < found.size(); ++index) {
    EXPECT_EQ(found[index].item, expected[index].item) << index;
    EXPECT_EQ(found[index].start, expected[index].start) << index;
    EXPECT_EQ(found[index].end, expected[index].end) << index;
  }
}

TEST(CriticalPathTest, NothingHasNone) {
  Lines lines;
  EXPECT_TRUE(find(lines).empty());
  lines.addLine();
  EXPECT_TRUE(find(lines).empty());
}

TEST(CriticalPathTest, ThroughEventsAndRendezvous) {
  Lines lines;
  LineId first = lines.addLine(), second = lines.addLine();
  EventId event = lines.addEvents();
  GroupId group = lines.addGroup(3);
  ItemId before = lines.addWork(first, 2);
  lines.addRecord(first, event);
  lines.addWork(first, 1);
  lines.addRendezvous(second, group);
  lines.addRendezvous(first, group);
  ItemId last = lines.addWork(second, 4);
  // The wait of the third line is not what it ends after.
  LineId third = lines.addLine();
  lines.addWork(third, 1);
  lines.addWait(third, event);
  lines.addWork(third, 1);
  expectSteps(
      find(lines),
      {{before, 0, 2}, {{first, 2}, 2, 3}, {{first, 3}, 3, 6}, {last, 6, 10}});
}

TEST(CriticalPathTest, StaysOnItsLineIfBothEndAtOnce) {
  Lines lines;
  LineId first = lines.addLine(), second = lines.addLine();
  EventId event = lines.addEvents();
  GroupId group = lines.addGroup(1);
  for (LineId line : {first, second})
    lines.addWork(line, 2);
  lines.addRecord(first, event);
  lines.addWait(second, event);
  lines.addRendezvous(second, group);
  lines.addRendezvous(first, group);
  lines.addWork(second, 1);
  expectSteps(find(lines),
              {{{second, 0}, 0, 2}, {{second, 2}, 2, 3}, {{second, 3}, 3, 4}});
}

TEST(CriticalPathTest, RandomPathsAddUp) {
  std::mt19937 random(13);
  for (int round = 0; round < 2000; ++round) {
    LinePlan plan = makeRandomPlan(random, round % 100, round % 2 == 0);
    Lines lines = makeLines(plan, getPlainNumbers(plan));
    llvm::Expected<Timeline> timeline = simulate(lines);
    ASSERT_TRUE(static_cast<bool>(timeline));
    double time = 0;
    for (const PathStep &step : findCriticalPath(lines, *timeline)) {
      EXPECT_EQ(step.start, time) << round;
      EXPECT_GT(step.end, step.start);
      EXPECT_EQ(step.end, timeline->getEnd(step.item));
      ItemKind kind = lines.getKind(step.item);
      EXPECT_TRUE(kind == ItemKind::Work || kind == ItemKind::Rendezvous);
      // Only what others have of its links makes a step longer.
      double duration = lines.getDuration(step.item);
      if (kind == ItemKind::Work ||
          lines.getLinks(lines.getOperand(step.item)).empty())
        EXPECT_NEAR(step.end - step.start, duration, 1e-9) << round;
      else
        EXPECT_GE(step.end - step.start, duration - 1e-9) << round;
      time = step.end;
    }
    EXPECT_EQ(time, timeline->getEnd()) << round;
  }
}

} // namespace
