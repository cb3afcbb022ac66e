//===- SwapPlanTest.cpp - Chooses activations to swap ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/swap/SwapPlan.h"
#include "passes/lower/CopyPlacement.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mf::passes;
using testing::ElementsAre;

namespace {

SwapCandidate makeCandidate(const char *name, int64_t bytes) {
  SwapCandidate candidate;
  candidate.name = name;
  candidate.bytes = bytes;
  candidate.isReadByBackward = true;
  return candidate;
}

TEST(SwapPlanTest, DecidesByWhoReads) {
  std::vector<SwapCandidate> candidates = {
      makeCandidate("swapped", 1), makeCandidate("unread", 10),
      makeCandidate("weight", 100), makeCandidate("for recompute", 1000)};
  candidates[1].isReadByBackward = false;
  candidates[2].isMadeOfParameters = true;
  candidates[3].isReadByRecompute = true;
  SwapPlan plan = planSwap(candidates);
  EXPECT_THAT(plan.decisions,
              ElementsAre(SwapDecision::Swap, SwapDecision::NotRead,
                          SwapDecision::Parameters,
                          SwapDecision::ReadByRecompute));
  EXPECT_EQ(plan.swappedBytes, 1);
  EXPECT_EQ(plan.keptBytes, 1000);
  std::string text;
  llvm::raw_string_ostream os(text);
  plan.print(candidates, os);
  EXPECT_EQ(text,
            "swap plan: 1 of 4 values swapped, 1 bytes; 1000 bytes kept\n"
            "  swapped, 1 bytes, distance 1: leaves the device between forward "
            "and backward\n"
            "  unread, 10 bytes, distance 1: not swapped: backward does not "
            "read it\n"
            "  weight, 100 bytes, distance 1: not swapped: it is made of "
            "parameters alone\n"
            "  for recompute, 1000 bytes, distance 1: not swapped: an operator "
            "that is recomputed reads it\n");
}

TEST(CopyPlacementTest, ReleasesThreeTimesTheDistanceLater) {
  EXPECT_EQ(placeRelease(4, 1), 7);
  EXPECT_EQ(placeRelease(4, 10), 34);
  EXPECT_EQ(placeRelease(0, 2147483647), int64_t{3} * 2147483647);
}

TEST(CopyPlacementTest, PrefetchesTheDistanceAhead) {
  PrefetchPlace inside = placePrefetch(10, 3);
  EXPECT_EQ(inside.kernel, 7);
  EXPECT_EQ(inside.ahead, 0);
  PrefetchPlace atStart = placePrefetch(3, 3);
  EXPECT_EQ(atStart.kernel, 0);
  EXPECT_EQ(atStart.ahead, 0);
  PrefetchPlace early = placePrefetch(3, 10);
  EXPECT_EQ(early.kernel, 0);
  EXPECT_EQ(early.ahead, 7);
}

TEST(CopyPlacementTest, WalksBackOverTasks) {
  // Task 0 makes what task 4 reads.
  const std::vector<int64_t> lengths = {50, 10, 0, 20, 30};
  EXPECT_EQ(walkBack(lengths, 4, 5, 0), (SchedulePlace{3, 15}));
  EXPECT_EQ(walkBack(lengths, 4, 20, 0), (SchedulePlace{3, 0}));
  EXPECT_EQ(walkBack(lengths, 4, 21, 0), (SchedulePlace{1, 9}));
  // Never into the task that makes the value.
  EXPECT_EQ(walkBack(lengths, 4, 31, 0), (SchedulePlace{1, 0}));
  EXPECT_EQ(walkBack(lengths, 4, 1000000, 0), (SchedulePlace{1, 0}));
  EXPECT_EQ(walkBack(lengths, 4, 1000000, 3), (SchedulePlace{4, 0}));
}

} // namespace
