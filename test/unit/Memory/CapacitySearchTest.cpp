//===- CapacitySearchTest.cpp - Search within a capacity ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "SampleAllocations.h"
#include "lib/Program/Memory/search/PackSearch.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <numeric>

using namespace mf::memory;
using Status = CapacitySearchResult::Status;

namespace {

CapacitySearchResult search(const AllocationProblem &problem, int64_t capacity,
                            int64_t work = 4'000'000'000) {
  return searchWithin(compressLifetimes(problem.buffers), capacity, work);
}

bool areAliveTogether(const AllocationBuffer &a, const AllocationBuffer &b) {
  return a.size > 0 && b.size > 0 && a.lower < b.upper && b.lower < a.upper;
}

/// Puts the buffers, in this order, to their lowest offsets; returns the peak.
int64_t stack(const AllocationProblem &problem,
              const std::vector<size_t> &order) {
  std::vector<int64_t> offsets(order.size(), -1);
  for (size_t i = 0; i < order.size(); ++i)
    offsets[i] = problem.buffers[i].fixedOffset.value_or(-1);
  for (size_t index : order) {
    const AllocationBuffer &buffer = problem.buffers[index];
    if (buffer.fixedOffset)
      continue;
    for (int64_t offset = 0; offsets[index] < 0; offset += buffer.alignment) {
      bool isFree = true;
      for (size_t i = 0; i < order.size(); ++i)
        isFree &= offsets[i] < 0 ||
                  !areAliveTogether(buffer, problem.buffers[i]) ||
                  offset + buffer.size <= offsets[i] ||
                  offsets[i] + problem.buffers[i].size <= offset;
      if (isFree)
        offsets[index] = offset;
    }
  }
  return problem.getPeak(offsets);
}

/// The lowest peak: some order of stacking reaches it.
int64_t findLowestPeak(const AllocationProblem &problem) {
  std::vector<size_t> order(problem.buffers.size());
  std::iota(order.begin(), order.end(), 0);
  int64_t best = std::numeric_limits<int64_t>::max();
  do
    best = std::min(best, stack(problem, order));
  while (std::next_permutation(order.begin(), order.end()));
  return best;
}

void expectDecides(const AllocationProblem &problem, int64_t lowestPeak) {
  CapacitySearchResult fit = search(problem, lowestPeak);
  ASSERT_EQ(fit.status, Status::Fit);
  AllocationProblem limited = problem;
  limited.capacity = lowestPeak;
  EXPECT_EQ(llvm::toString(limited.verify(fit.offsets)), "");
  CapacitySearchResult none = search(problem, lowestPeak - 1);
  EXPECT_EQ(none.status, Status::Infeasible);
  EXPECT_TRUE(none.offsets.empty());
}

TEST(CapacitySearchTest, DecidesSmallProblems) {
  std::mt19937 random(11);
  for (int round = 0; round < 1500; ++round) {
    SCOPED_TRACE(round);
    AllocationProblem problem = makeRandom(random, 1 + random() % 6, 8, 4, 9);
    int64_t lowestPeak = findLowestPeak(problem);
    if (lowestPeak > 0)
      expectDecides(problem, lowestPeak);
  }
}

TEST(CapacitySearchTest, DeniesOnlyWhatIsImpossible) {
  // Among the smallest problems whose lowest peak is above the max-live bound,
  // with its sizes varied.
  constexpr int64_t seed[][3] = {{8, 10, 1}, {3, 6, 3},  {4, 9, 9},
                                 {5, 9, 7},  {0, 5, 12}, {9, 11, 11},
                                 {0, 2, 11}, {8, 14, 7}};
  std::mt19937 random(15);
  int aboveBound = 0;
  for (int round = 0; round < 8; ++round) {
    SCOPED_TRACE(round);
    AllocationProblem problem;
    for (const auto &[lower, upper, size] : seed)
      problem.buffers.push_back(
          makeBuffer(std::to_string(problem.buffers.size()), lower, upper,
                     size * 4 + (round > 0 ? random() % 2 : 0)));
    int64_t lowestPeak = findLowestPeak(problem);
    aboveBound += lowestPeak > problem.maxLive().bytes;
    expectDecides(problem, lowestPeak);
  }
  EXPECT_GT(aboveBound, 4);
}

TEST(CapacitySearchTest, DecidesAroundFixedBuffers) {
  std::mt19937 random(12);
  for (int round = 0; round < 1500; ++round) {
    SCOPED_TRACE(round);
    AllocationProblem problem = makeRandom(random, 2 + random() % 5, 8, 4, 9);
    problem.buffers[0].fixedOffset = random() % 12;
    if (random() % 2)
      problem.buffers[1].fixedOffset = random() % 12;
    if (llvm::Error error = problem.check()) {
      llvm::consumeError(std::move(error));
      continue;
    }
    int64_t fixedEnd = 0;
    for (const AllocationBuffer &buffer : problem.buffers)
      if (buffer.fixedOffset && buffer.size > 0)
        fixedEnd = std::max(fixedEnd, *buffer.fixedOffset + buffer.size);
    int64_t lowestPeak = findLowestPeak(problem);
    CapacitySearchResult fit = search(problem, lowestPeak);
    ASSERT_EQ(fit.status, Status::Fit);
    problem.capacity = lowestPeak;
    EXPECT_EQ(llvm::toString(problem.verify(fit.offsets)), "");
    if (lowestPeak > std::max<int64_t>(fixedEnd, 1)) {
      EXPECT_EQ(search(problem, lowestPeak - 1).status, Status::Infeasible);
    }
  }
}

TEST(CapacitySearchTest, HonoursAlignments) {
  std::mt19937 random(13);
  int fits = 0;
  for (int round = 0; round < 500; ++round) {
    SCOPED_TRACE(round);
    AllocationProblem problem =
        makeRandom(random, 1 + random() % 6, 8, 4, 9, 4);
    int64_t lowestPeak = findLowestPeak(problem);
    int64_t capacity = (lowestPeak + 3) / 4 * 4;
    CapacitySearchResult fit = search(problem, capacity);
    ASSERT_EQ(fit.status, Status::Fit);
    EXPECT_EQ(llvm::toString(problem.verify(fit.offsets)), "");
    // Mixed alignments: whatever is found is legal, and nothing is denied.
    for (AllocationBuffer &buffer : problem.buffers)
      buffer.alignment = 1 << (random() % 4);
    lowestPeak = findLowestPeak(problem);
    fit = search(problem, lowestPeak);
    EXPECT_NE(fit.status, Status::Infeasible);
    if (fit.status == Status::Fit) {
      ++fits;
      problem.capacity = lowestPeak;
      EXPECT_EQ(llvm::toString(problem.verify(fit.offsets)), "");
    }
  }
  EXPECT_GT(fits, 300);
}

TEST(CapacitySearchTest, GivesUpWhenTheWorkEnds) {
  std::mt19937 random(14);
  AllocationProblem problem = makeRandom(random, 200, 60, 30, 9);
  CapacitySearchResult result =
      search(problem, problem.maxLive().bytes, /*work=*/1000);
  EXPECT_EQ(result.status, Status::Unknown);
  EXPECT_TRUE(result.offsets.empty());
}

TEST(CapacitySearchTest, AcceptsProblemsWithNothingToPlace) {
  AllocationProblem problem;
  EXPECT_EQ(search(problem, 0).status, Status::Fit);
  problem.buffers = {makeBuffer("a", 0, 1, 0)};
  EXPECT_EQ(search(problem, 0).offsets, std::vector<int64_t>{0});
  problem.buffers[0].size = 5;
  problem.buffers[0].fixedOffset = 3;
  EXPECT_EQ(search(problem, 8).offsets, std::vector<int64_t>{3});
}

class MiniMallocInstanceTest : public testing::TestWithParam<const char *> {};

TEST_P(MiniMallocInstanceTest, FitsAtCapacity) {
  AllocationProblem problem =
      loadInstance(std::string(GetParam()) + ".1048576.csv");
  ASSERT_EQ(llvm::toString(problem.check()), "");
  problem.capacity = 1048576;
  CapacitySearchResult result = search(problem, 1048576);
  ASSERT_EQ(result.status, Status::Fit);
  EXPECT_EQ(llvm::toString(problem.verify(result.offsets)), "");
  EXPECT_EQ(search(problem, 1048576).offsets, result.offsets);
  // Backwards in time and with the buffers in another order as well.
  std::mt19937 random(1);
  std::shuffle(problem.buffers.begin(), problem.buffers.end(), random);
  for (AllocationBuffer &buffer : problem.buffers)
    std::tie(buffer.lower, buffer.upper) =
        std::make_pair(-buffer.upper, -buffer.lower);
  result = search(problem, 1048576);
  ASSERT_EQ(result.status, Status::Fit);
  EXPECT_EQ(llvm::toString(problem.verify(result.offsets)), "");
}

INSTANTIATE_TEST_SUITE_P(All, MiniMallocInstanceTest,
                         testing::Values("A", "B", "C", "D", "E", "F"));

} // namespace
