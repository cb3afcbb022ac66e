//===- MachineRatesTest.cpp - Measured peak rates of this machine ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Kernels/MachineRates.h"
#include "gtest/gtest.h"
#include <vector>

using namespace mf;

namespace {

/// A clock by which each run takes what a list says, the last for all others.
class FakeClock {
public:
  explicit FakeClock(Values seconds) : seconds(std::move(seconds)) {}

  double operator()() {
    const size_t run = reads++ / 2;
    if (reads % 2 == 0)
      now += seconds[std::min(run, seconds.size() - 1)];
    return now;
  }

  size_t getRuns() const { return reads / 2; }

private:
  Values seconds;
  double now = 0;
  size_t reads = 0;
};

TEST(MachineRatesTest, ProductsCountAtTheirFastestRun) {
  ThreadPool pool(2);
  for (const DType type : {DType::F32, DType::BF16}) {
    FakeClock clock({2, 0.5, 1});
    const double rate = measureProductRate(type, pool, clock);
    EXPECT_DOUBLE_EQ(rate, 2.0 * 1536 * 1536 * 1536 / 0.5);
    EXPECT_EQ(clock.getRuns(), 3U);
  }
}

TEST(MachineRatesTest, StreamsCountWhatIsReadAndWritten) {
  ThreadPool pool(2);
  FakeClock clock({2, 0.25, 1});
  EXPECT_DOUBLE_EQ(measureStreamingRate(pool, clock), 3.0 * (64 << 20) / 0.25);
}

TEST(MachineRatesTest, ShortRunsAreRepeated) {
  ThreadPool pool(2);
  FakeClock clock({0.01});
  measureStreamingRate(pool, clock);
  EXPECT_GE(clock.getRuns(), 9U);
  EXPECT_LE(clock.getRuns(), 11U);
}

} // namespace
