//===- AllocationPlanTest.cpp - Entry point of the allocators -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Memory/AllocationPlan.h"
#include "SampleAllocations.h"
#include "mf/Program/Memory/AllocationCsv.h"
#include "gtest/gtest.h"

using namespace mf::memory;

namespace {

TEST(AllocationPlanTest, FitsTheCapacityThatHeuristicsMiss) {
  AllocationProblem problem = loadInstance("A.1048576.csv");
  problem.capacity = 1048576;
  AllocationPlanOptions options;
  options.fitWork = 0;
  options.improvementWork = 0;
  AllocationPlan heuristic = llvm::cantFail(planAllocation(problem, options));
  EXPECT_FALSE(heuristic.fits);
  EXPECT_FALSE(heuristic.isProvenInfeasible);
  EXPECT_GT(heuristic.peak, 1048576);
  AllocationPlan plan = llvm::cantFail(planAllocation(problem));
  EXPECT_TRUE(plan.fits);
  EXPECT_EQ(plan.peak, 1048576);
  EXPECT_EQ(plan.getGap(), 0);
  EXPECT_EQ(llvm::toString(problem.verify(plan.offsets)), "");
  EXPECT_EQ(llvm::cantFail(planAllocation(problem)).offsets, plan.offsets);
}

TEST(AllocationPlanTest, ImprovesOnHeuristicsWithoutCapacity) {
  AllocationProblem problem = loadInstance("C.1048576.csv");
  AllocationPlanOptions options;
  options.improvementWork = 0;
  AllocationPlan heuristic = llvm::cantFail(planAllocation(problem, options));
  AllocationPlan plan = llvm::cantFail(planAllocation(problem));
  EXPECT_LT(plan.peak, heuristic.peak);
  EXPECT_EQ(problem.getPeak(plan.offsets), plan.peak);
  EXPECT_EQ(llvm::toString(problem.verify(plan.offsets)), "");
}

TEST(AllocationPlanTest, SaysWhenNothingFits) {
  AllocationProblem problem = loadInstance("B.1048576.csv");
  problem.capacity = 1048575;
  AllocationPlan plan = llvm::cantFail(planAllocation(problem));
  EXPECT_FALSE(plan.fits);
  EXPECT_TRUE(plan.isProvenInfeasible);
  EXPECT_EQ(plan.bound.bytes, 1048576);
  problem.capacity.reset();
  EXPECT_EQ(llvm::toString(problem.verify(plan.offsets)), "");
}

/// Never more than 8 bytes are alive, but nothing fits into 8.
constexpr const char *problemWithGap = "id,lower,upper,size\n"
                                       "a,1,3,3\n"
                                       "b,1,4,2\n"
                                       "c,0,2,3\n"
                                       "d,0,1,4\n"
                                       "e,3,5,4\n"
                                       "f,4,5,4\n"
                                       "g,2,4,2\n";

TEST(AllocationPlanTest, SaysWhenNothingSmallerExists) {
  AllocationProblem problem =
      llvm::cantFail(parseAllocationCsv(problemWithGap, "gap.csv"));
  AllocationPlan plan = llvm::cantFail(planAllocation(problem));
  EXPECT_EQ(plan.peak, 9);
  EXPECT_EQ(plan.bound.bytes, 8);
  EXPECT_TRUE(plan.isOptimal);
  AllocationPlanOptions options;
  options.improvementWork = 0;
  plan = llvm::cantFail(planAllocation(problem, options));
  EXPECT_GT(plan.peak, 8);
  EXPECT_FALSE(plan.isOptimal);
  // Without g the bound is reached, by heuristics alone.
  problem.buffers.pop_back();
  plan = llvm::cantFail(planAllocation(problem, options));
  EXPECT_EQ(plan.peak, plan.bound.bytes);
  EXPECT_TRUE(plan.isOptimal);
}

TEST(AllocationPlanTest, KnowsThatACapacityThatHoldsNothingIsABound) {
  AllocationProblem problem =
      llvm::cantFail(parseAllocationCsv(problemWithGap, "gap.csv"));
  problem.capacity = 8;
  AllocationPlan plan = llvm::cantFail(planAllocation(problem));
  EXPECT_TRUE(plan.isProvenInfeasible);
  EXPECT_EQ(plan.peak, 9);
  EXPECT_TRUE(plan.isOptimal);
}

TEST(AllocationPlanTest, PlansRandomProblemsLegally) {
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    AllocationProblem problem =
        makeRandom(random, 1 + random() % 80, 50, 20, 1000, 64);
    if (round % 2 == 0)
      for (AllocationBuffer &buffer : problem.buffers)
        buffer.alignment = 1 << (random() % 8);
    AllocationPlanOptions options;
    options.improvementWork = 3'000'000;
    AllocationPlan plan = llvm::cantFail(planAllocation(problem, options));
    EXPECT_TRUE(plan.fits);
    EXPECT_EQ(llvm::toString(problem.verify(plan.offsets)), "");
    EXPECT_EQ(problem.getPeak(plan.offsets), plan.peak);
    EXPECT_GE(plan.peak, plan.bound.bytes);
  }
}

} // namespace
