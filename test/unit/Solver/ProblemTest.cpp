//===- ProblemTest.cpp - Checks of well-formed problems -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "PlanTesting.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mf::solver;

namespace {

std::string check(const Problem &problem) {
  return getMessage(problem.check());
}

TEST(ProblemTest, AWellFormedOne) {
  const Problem problem = makeSmallProblem();
  EXPECT_EQ(check(problem), "");
  EXPECT_EQ(problem.getNumLayers(), 4);
  EXPECT_EQ(problem.getNumTreatments(), 2U);
}

TEST(ProblemTest, CostsAreFiniteAndNotNegative) {
  Problem problem = makeSmallProblem();
  problem.kinds[1].treatments[1].copyOut = -1;
  EXPECT_EQ(check(problem), "copy out of treatment 'recompute' of layer kind "
                            "'experts' is -1, expected a finite number from 0");
  problem = makeSmallProblem();
  problem.stages[1].limit = std::nan("");
  EXPECT_EQ(check(problem),
            "memory limit of stage 1 is nan, expected a finite number from 0");
  problem = makeSmallProblem();
  problem.stages[1].constant = -5;
  EXPECT_EQ(check(problem), "");
  problem.stages[1].constant = INFINITY;
  EXPECT_EQ(check(problem), "constant memory of stage 1 is inf, expected a "
                            "finite number");
  problem = makeSmallProblem();
  problem.kinds[0].treatments[0].weightGradient = 3;
  EXPECT_EQ(check(problem),
            "weight gradient of treatment 'none' of layer kind 'dense' takes "
            "3, expected at most the 2 of the backward that it is a part of");
}

TEST(ProblemTest, SizesAgree) {
  Problem problem = makeSmallProblem();
  problem.stages.pop_back();
  EXPECT_EQ(check(problem), "memory of 1 stages is given, expected that of "
                            "each of the 2");
  problem = makeSmallProblem();
  problem.kinds[1].treatments.pop_back();
  EXPECT_EQ(check(problem), "layer kind 'experts' has other treatments than "
                            "kind 'dense', expected the same in the same "
                            "order");
  problem = makeSmallProblem();
  problem.extras.push_back({});
  problem.extras.back().chunk = 2;
  EXPECT_EQ(check(problem), "an extra is on chunk 2, expected 0 to 1");
  problem = makeSmallProblem();
  problem.fixedTreatments = {{}, {1}};
  EXPECT_EQ(check(problem), "treatment 'recompute' is given for 1 chunks, "
                            "expected each of the 2");
  problem = makeSmallProblem();
  problem.exclusive = {{1, 1}};
  EXPECT_EQ(check(problem),
            "treatment 'recompute' is exclusive with itself, expected another "
            "one");
  problem = makeSmallProblem();
  problem.numFollowers = 2;
  EXPECT_EQ(check(problem), "2 kinds follow the layer before them, expected "
                            "fewer than the 2 that there are");
  problem.numFollowers = 1;
  problem.kinds[0].count = 2;
  EXPECT_EQ(check(problem), "kind 'dense', which others follow, has 2 layers, "
                            "expected 1");
  problem = makeSmallProblem();
  problem.forbidden = {{0, {}}};
  EXPECT_EQ(check(problem),
            "0 chunks are forbidden on stage 0, expected its 1");
}

TEST(ProblemTest, EnoughLayersForTheChunks) {
  Problem problem = makeSmallProblem();
  problem.kinds[0].count = problem.kinds[1].count = 4000;
  EXPECT_EQ(check(problem), "there are 8000 layers, expected 1 to 4096");
  problem = makeSmallProblem();
  problem.minLayersPerChunk = 3;
  EXPECT_EQ(check(problem), "4 layers are too few for 2 chunks of at least 3, "
                            "expected at least 6");
  problem = makeSmallProblem();
  problem.maxLayersPerChunk = 1;
  EXPECT_EQ(check(problem), "4 layers are too many for 2 chunks of at most 1, "
                            "expected at most 2");
  problem = makeSmallProblem();
  problem.fixedLayers = {1, 2};
  EXPECT_EQ(check(problem),
            "chunks are given 3 layers, expected the 4 that there are");
  problem.fixedLayers = {0, 4};
  EXPECT_EQ(check(problem).substr(0, 27), "chunk 0 is given 0 layers, ");
}

} // namespace
