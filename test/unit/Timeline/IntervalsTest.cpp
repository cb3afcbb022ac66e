//===- IntervalsTest.cpp - Sets of intervals of time ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Perf/Timeline/Intervals.h"
#include "gtest/gtest.h"
#include <cstdint>

using namespace mf::timeline;

namespace {

template <typename Time> class IntervalsTest : public testing::Test {
protected:
  using Pairs = std::vector<std::pair<Time, Time>>;

  static Intervals<Time> make(const Pairs &pairs) {
    std::vector<Interval<Time>> unordered;
    for (const auto &[start, end] : pairs)
      unordered.push_back({start, end});
    return Intervals<Time>(std::move(unordered));
  }
  static Pairs read(const Intervals<Time> &intervals) {
    Pairs pairs;
    for (const Interval<Time> &interval : intervals.get())
      pairs.emplace_back(interval.start, interval.end);
    return pairs;
  }
};

using TimeTypes = testing::Types<int64_t, double>;
TYPED_TEST_SUITE(IntervalsTest, TimeTypes);

TYPED_TEST(IntervalsTest, JoinsWhatOverlapsOrTouchesInAnyOrder) {
  using Pairs = typename TestFixture::Pairs;
  const auto joined =
      this->make({{8, 9}, {1, 5}, {5, 6}, {2, 3}, {7, 7}, {12, 11}});
  EXPECT_EQ(this->read(joined), (Pairs{{1, 6}, {8, 9}}));
  EXPECT_EQ(joined.getLength(), 6);
}

TYPED_TEST(IntervalsTest, UnitesWhatIsInEither) {
  using Pairs = typename TestFixture::Pairs;
  const auto left = this->make({{0, 2}, {4, 6}, {10, 11}});
  const auto right = this->make({{2, 3}, {5, 8}});
  EXPECT_EQ(this->read(left.unite(right)), (Pairs{{0, 3}, {4, 8}, {10, 11}}));
  EXPECT_EQ(this->read(right.unite(left)), this->read(left.unite(right)));
}

TYPED_TEST(IntervalsTest, OneCutsSeveral) {
  using Pairs = typename TestFixture::Pairs;
  const auto all = this->make({{0, 4}, {5, 9}, {10, 12}, {20, 21}});
  const auto part = this->make({{1, 2}, {3, 6}, {7, 8}, {9, 15}});
  EXPECT_EQ(this->read(all.subtract(part)),
            (Pairs{{0, 1}, {2, 3}, {6, 7}, {8, 9}, {20, 21}}));
  EXPECT_EQ(this->read(all.subtract({})), this->read(all));
  EXPECT_TRUE(all.subtract(all).get().empty());
}

} // namespace
