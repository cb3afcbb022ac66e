//===- CopyPlacementTest.cpp - When copies of swapped values start --------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/lower/CopyPlacement.h"
#include "gtest/gtest.h"
#include <algorithm>

using namespace mf::passes;

namespace {

TEST(CopyPlacementTest, ReleasesThreeTimesTheDistanceLater) {
  EXPECT_EQ(placeRelease(4, 1), 7);
  EXPECT_EQ(placeRelease(4, 10), 34);
  EXPECT_EQ(placeRelease(0, 2147483647), int64_t{3} * 2147483647);
}

TEST(CopyPlacementTest, PrefetchesTheDistanceAhead) {
  for (int64_t reader = 0; reader < 12; ++reader)
    for (int64_t distance = 0; distance < 15; ++distance) {
      PrefetchPlace place = placePrefetch(reader, distance);
      EXPECT_EQ(place.kernel, std::max<int64_t>(reader - distance, 0));
      EXPECT_EQ(place.ahead, std::max<int64_t>(distance - reader, 0));
    }
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
