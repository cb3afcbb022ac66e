//===- FirstFitTest.cpp - Fast allocation heuristics ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "SampleAllocations.h"
#include "mf/Program/Memory/AllocationPlan.h"
#include "gtest/gtest.h"

using namespace mf::memory;

namespace {

/// Buffers of many alignments, of which a quarter are empty.
AllocationProblem makeMixed(unsigned seed, int64_t count, int64_t horizon,
                            int64_t longest) {
  std::mt19937 random(seed);
  AllocationProblem problem = makeRandom(random, count, horizon, longest, 5000);
  for (AllocationBuffer &buffer : problem.buffers) {
    buffer.size = random() % 4 == 0 ? 0 : buffer.size;
    buffer.alignment = 1 << (random() % 4 * 3);
  }
  return problem;
}

TEST(FirstFitTest, PlacesRandomProblemsLegally) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    AllocationProblem problem = makeMixed(seed, 1 + seed, 50, 1 + seed % 40);
    ASSERT_EQ(llvm::toString(problem.check()), "");
    const int64_t work = seed * 5000;
    Placement placement = solveFirstFit(problem, work);
    EXPECT_EQ(llvm::toString(problem.verify(placement.offsets)), "");
    EXPECT_EQ(problem.getPeak(placement.offsets), placement.peak);
    EXPECT_GE(placement.peak, problem.maxLive().bytes);
    EXPECT_EQ(solveFirstFit(problem, work).offsets, placement.offsets);
  }
}

TEST(FirstFitTest, HonoursFixedOffsets) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    AllocationProblem problem = makeMixed(seed, 60, 50, 20);
    // Fix some buffers where an earlier placement had them, moved up.
    Placement before = solveFirstFit(problem);
    for (size_t i = 0; i < problem.buffers.size(); i += 3)
      problem.buffers[i].fixedOffset = before.offsets[i] + 4096;
    ASSERT_EQ(llvm::toString(problem.check()), "");
    Placement placement = solveFirstFit(problem);
    EXPECT_EQ(llvm::toString(problem.verify(placement.offsets)), "");
    EXPECT_EQ(problem.getPeak(placement.offsets), placement.peak);
  }
}

TEST(FirstFitTest, ReachesTheBoundOnNestedLifetimes) {
  AllocationProblem problem;
  for (int64_t i = 0; i < 100; ++i)
    problem.buffers.push_back(
        makeBuffer(std::to_string(i), i, 200 - i, 1 + i * 37 % 11));
  EXPECT_EQ(solveFirstFit(problem).peak, problem.maxLive().bytes);
}

TEST(FirstFitTest, HintsRecoverASolution) {
  // A packing without a gap, cut at random; its offsets are the hints.
  std::mt19937 random(7);
  AllocationProblem problem;
  int64_t address = 0;
  for (int row = 0; row < 20; ++row) {
    int64_t height = 1 + random() % 100, time = 0;
    while (time < 1000) {
      int64_t end = std::min<int64_t>(1000, time + 1 + random() % 300);
      problem.buffers.push_back(makeBuffer(
          std::to_string(problem.buffers.size()), time, end, height));
      problem.buffers.back().hint = address;
      time = end;
    }
    address += height;
  }
  EXPECT_EQ(problem.maxLive().bytes, address);
  EXPECT_EQ(solveFirstFit(problem).peak, address);
}

TEST(FirstFitTest, StaysWithinItsWorkOnManyBuffers) {
  AllocationProblem problem = makeMixed(3, 200000, 1000000, 300);
  Placement placement = solveFirstFit(problem);
  EXPECT_EQ(llvm::toString(problem.verify(placement.offsets)), "");
  // All alive together: quadratically many overlaps.
  AllocationProblem dense = makeMixed(4, 20000, 10, 1000);
  placement = solveFirstFit(dense, /*work=*/1000);
  EXPECT_EQ(llvm::toString(dense.verify(placement.offsets)), "");
}

} // namespace
