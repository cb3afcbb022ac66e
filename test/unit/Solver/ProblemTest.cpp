//===- ProblemTest.cpp - Checks of well-formed problems -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "PlanTesting.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mf::solver;

namespace {

/// What is wrong with the small problem after a change.
struct WrongProblem {
  void (*change)(Problem &);
  const char *message;
};

const WrongProblem wrongProblems[] = {
    {[](Problem &) {}, ""},
    // Costs are finite and not negative; a constant may be negative.
    {[](Problem &p) { p.kinds[1].treatments[1].copyOut = -1; },
     "copy out of treatment 'recompute' of layer kind 'experts' is -1, "
     "expected "
     "a finite number from 0"},
    {[](Problem &p) { p.stages[1].limit = std::nan(""); },
     "memory limit of stage 1 is nan, expected a finite number from 0"},
    {[](Problem &p) { p.stages[1].constant = -5; }, ""},
    {[](Problem &p) { p.stages[1].constant = INFINITY; },
     "constant memory of stage 1 is inf, expected a finite number"},
    {[](Problem &p) { p.kinds[0].treatments[0].weightGradient = 3; },
     "weight gradient of treatment 'none' of layer kind 'dense' takes 3, "
     "expected at most the 2 of the backward that it is a part of"},
    // Sizes agree.
    {[](Problem &p) { p.stages.pop_back(); },
     "memory of 1 stages is given, expected that of each of the 2"},
    {[](Problem &p) { p.kinds[1].treatments.pop_back(); },
     "layer kind 'experts' has other treatments than kind 'dense', expected "
     "the "
     "same in the same order"},
    {[](Problem &p) { p.extras.emplace_back().chunk = 2; },
     "an extra is on chunk 2, expected 0 to 1"},
    {[](Problem &p) { p.fixedTreatments = {{}, {1}}; },
     "treatment 'recompute' is given for 1 chunks, expected each of the 2"},
    {[](Problem &p) { p.exclusive = {{1, 1}}; },
     "treatment 'recompute' is exclusive with itself, expected another one"},
    {[](Problem &p) { p.numFollowers = 2; },
     "2 kinds follow the layer before them, expected fewer than the 2 that "
     "there are"},
    {[](Problem &p) { p.numFollowers = 1, p.kinds[0].count = 2; },
     "kind 'dense', which others follow, has 2 layers, expected 1"},
    {[](Problem &p) { p.forbidden = {{0, {}}}; },
     "0 chunks are forbidden on stage 0, expected its 1"},
    // There are as many layers as chunks can have.
    {[](Problem &p) { p.kinds[0].count = p.kinds[1].count = 4000; },
     "there are 8000 layers, expected 1 to 4096"},
    {[](Problem &p) { p.minLayersPerChunk = 3; },
     "4 layers are too few for 2 chunks of at least 3, expected at least 6"},
    {[](Problem &p) { p.maxLayersPerChunk = 1; },
     "4 layers are too many for 2 chunks of at most 1, expected at most 2"},
    {[](Problem &p) { p.fixedLayers = {1, 2}; },
     "chunks are given 3 layers, expected the 4 that there are"},
    {[](Problem &p) { p.fixedLayers = {0, 4}; },
     "chunk 0 is given 0 layers, expected 1 to 4096"},
};

TEST(ProblemTest, ChecksSayWhatIsWrong) {
  for (const WrongProblem &each : wrongProblems) {
    Problem problem = makeSmallProblem();
    each.change(problem);
    EXPECT_EQ(getMessage(problem.check()), each.message);
  }
}

} // namespace
