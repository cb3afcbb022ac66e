//===- AllocationProblemTest.cpp - Checks of problems and allocations -----===//
// SPDX-License-Identifier: Apache-2.0

#include "SampleAllocations.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mf::memory;
using testing::HasSubstr;

namespace {

AllocationBuffer makeFixed(std::string id, int64_t lower, int64_t upper,
                           int64_t size, int64_t offset) {
  AllocationBuffer buffer = makeBuffer(std::move(id), lower, upper, size);
  buffer.fixedOffset = offset;
  return buffer;
}

std::string checkError(std::vector<AllocationBuffer> buffers) {
  AllocationProblem problem;
  problem.buffers = std::move(buffers);
  return llvm::toString(problem.check());
}

TEST(AllocationProblemTest, AcceptsEmptyAndZeroSizes) {
  EXPECT_EQ(checkError({}), "");
  EXPECT_EQ(checkError({makeBuffer("a", 0, 1, 0)}), "");
  AllocationProblem empty;
  EXPECT_EQ(empty.maxLive().bytes, 0);
  EXPECT_EQ(llvm::toString(empty.verify({})), "");
}

TEST(AllocationProblemTest, CheckNamesTheBuffer) {
  EXPECT_EQ(checkError({makeBuffer("a", 3, 3, 1)}),
            "buffer 'a' has an empty lifetime [3, 3), expected lower < upper");
  EXPECT_EQ(checkError({makeBuffer("b", 0, 1, -5)}),
            "buffer 'b' has the negative size -5");
  EXPECT_EQ(checkError({makeBuffer("c", 0, 1, 5, 0)}),
            "buffer 'c' has the alignment 0, expected a positive number");
  EXPECT_EQ(checkError({makeBuffer("d", 0, 1, 1), makeBuffer("d", 0, 1, 1)}),
            "two buffers have the name 'd'");
  EXPECT_EQ(checkError({makeBuffer("a\nb", 0, 1, 1)}),
            "the name of buffer 0 holds a line break");
  EXPECT_EQ(checkError({makeFixed("e", 0, 1, 1, -1)}),
            "buffer 'e' has the negative fixed offset -1");
}

TEST(AllocationProblemTest, CheckFindsSumsThatOverflow) {
  int64_t huge = int64_t(1) << 60;
  EXPECT_EQ(checkError({makeBuffer("a", 0, 1, huge)}), "");
  EXPECT_THAT(
      checkError({makeBuffer("a", 0, 1, huge), makeBuffer("b", 0, 1, huge)}),
      HasSubstr("up to buffer 'b' exceed 2^61 bytes"));
  EXPECT_THAT(
      checkError({makeBuffer("a", 0, 1, 1, std::numeric_limits<int64_t>::max()),
                  makeBuffer("b", 0, 1, 1)}),
      HasSubstr("exceed 2^61 bytes"));
  EXPECT_THAT(checkError({makeFixed("a", 0, 1, 1,
                                    std::numeric_limits<int64_t>::max())}),
              HasSubstr("exceed 2^61 bytes"));
}

TEST(AllocationProblemTest, CheckFindsContradictingFixedOffsets) {
  EXPECT_EQ(
      checkError({makeFixed("a", 0, 5, 10, 0), makeFixed("b", 5, 9, 10, 5)}),
      "");
  EXPECT_EQ(
      checkError({makeFixed("a", 0, 6, 10, 0), makeFixed("b", 5, 9, 10, 5)}),
      "buffer 'a' at [0, 10) and buffer 'b' at [5, 15) share an address "
      "and are both alive at time 5");
  AllocationProblem problem;
  problem.buffers = {makeFixed("a", 0, 1, 10, 20)};
  problem.capacity = 29;
  EXPECT_EQ(llvm::toString(problem.check()),
            "buffer 'a' is fixed at [20, 30), beyond the capacity 29");
}

TEST(AllocationProblemTest, MaxLiveCountsAlignedSizesButForTheTopmost) {
  AllocationProblem problem;
  problem.buffers = {makeBuffer("a", 0, 1, 100, 512),
                     makeBuffer("b", 0, 1, 500, 512)};
  // b at 0 and a at 512.
  EXPECT_EQ(problem.maxLive().bytes, 612);
  EXPECT_EQ(llvm::toString(problem.verify({512, 0})), "");
  EXPECT_EQ(problem.getPeak({512, 0}), 612);
  // A buffer without alignment can fill the rest of another's block.
  problem.buffers[0].alignment = 1;
  EXPECT_EQ(problem.maxLive().bytes, 600);
}

TEST(AllocationProblemTest, VerifyFindsEveryKindOfWrongOffset) {
  AllocationProblem problem;
  problem.buffers = {makeBuffer("a", 0, 4, 10, 4), makeBuffer("b", 3, 6, 20),
                     makeFixed("c", 4, 8, 15, 40)};
  problem.capacity = 60;
  auto verify = [&](const std::vector<int64_t> &offsets) {
    return llvm::toString(problem.verify(offsets));
  };
  EXPECT_EQ(verify({0, 10, 40}), "");
  EXPECT_EQ(verify({20, 0, 40}), "");
  EXPECT_EQ(verify({0, 10}), "expected 3 offsets, found 2");
  EXPECT_EQ(verify({0, 9, 40}),
            "buffer 'a' at [0, 10) and buffer 'b' at [9, 29) share an address "
            "and are both alive at time 3");
  EXPECT_EQ(verify({8, 9, 40}),
            "buffer 'a' at [8, 18) and buffer 'b' at [9, 29) share an address "
            "and are both alive at time 3");
  EXPECT_EQ(verify({2, 20, 40}),
            "buffer 'a' is at 2, which is not a multiple of its alignment 4");
  EXPECT_EQ(verify({0, 41, 40}),
            "buffer 'b' is at 41 and ends at 61, beyond the capacity 60");
  EXPECT_EQ(verify({0, 10, 41}), "buffer 'c' is at 41, but is fixed at 40");
  EXPECT_THAT(verify({-4, 10, 40}), HasSubstr("buffer 'a' is at -4"));
  EXPECT_THAT(verify({0, std::numeric_limits<int64_t>::max(), 40}),
              HasSubstr("an end below 2^63"));
}

/// The meaning of verify(), in quadratic time.
bool overlaps(const AllocationProblem &problem,
              const std::vector<int64_t> &offsets) {
  for (size_t i = 0; i < offsets.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const AllocationBuffer &a = problem.buffers[i], &b = problem.buffers[j];
      if (a.size > 0 && b.size > 0 && a.lower < b.upper && b.lower < a.upper &&
          offsets[i] < offsets[j] + b.size && offsets[j] < offsets[i] + a.size)
        return true;
    }
  return false;
}

TEST(AllocationProblemTest, VerifyAndMaxLiveAgreeWithTheirMeaning) {
  std::mt19937 random(1);
  int legal = 0;
  for (int round = 0; round < 2000; ++round) {
    AllocationProblem problem = makeRandom(random, 1 + random() % 6, 10, 5, 9);
    std::vector<int64_t> offsets(problem.buffers.size());
    for (int64_t &offset : offsets)
      offset = random() % 24;
    ASSERT_EQ(llvm::toString(problem.check()), "");
    bool expected = !overlaps(problem, offsets);
    legal += expected;
    EXPECT_EQ(llvm::toString(problem.verify(offsets)).empty(), expected);
    int64_t most = 0;
    for (int64_t time = 0; time < 16; ++time) {
      int64_t live = 0;
      for (const AllocationBuffer &buffer : problem.buffers)
        if (buffer.lower <= time && time < buffer.upper)
          live += buffer.size;
      most = std::max(most, live);
    }
    EXPECT_EQ(problem.maxLive().bytes, most);
  }
  EXPECT_GT(legal, 200);
  EXPECT_LT(legal, 1800);
}

} // namespace
