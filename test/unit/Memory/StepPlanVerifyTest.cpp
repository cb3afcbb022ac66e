//===- StepPlanVerifyTest.cpp - Wrong steps and wrong plans ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExpandedStep.h"
#include "SampleSteps.h"
#include "mf/Program/Memory/StepPlan.h"
#include "llvm/ADT/STLExtras.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <random>

using namespace mf::memory;
using testing::HasSubstr;

namespace {

TEST(StepPlanVerifyTest, CheckNamesWhatIsWrong) {
  auto check = [](auto change) {
    StepProblem step = makeSmallStep();
    change(step);
    return llvm::toString(step.check());
  };
  EXPECT_EQ(check([](StepProblem &) {}), "");
  EXPECT_EQ(check([](StepProblem &s) { s.alignment = 0; }),
            "the alignment is 0, expected a positive number");
  EXPECT_EQ(check([](StepProblem &s) { s.routines[2].length = 0; }),
            "routine 'update' has 0 instructions, expected at least 1");
  EXPECT_EQ(check([](StepProblem &s) { s.routines[0].temporaries[1].end = 5; }),
            "temporary 't1' of routine 'forward' is alive at [2, 5), expected "
            "a part of the routine's [0, 4)");
  EXPECT_EQ(
      check([](StepProblem &s) { s.routines[0].temporaries[1].size = -1; }),
      "temporary 't1' of routine 'forward' has the negative size -1");
  EXPECT_EQ(check([](StepProblem &s) { s.frames[0].phases[1] = 3; }),
            "phase 1 of frame 'chunk' is routine 3, but there are 3");
  EXPECT_EQ(check([](StepProblem &s) { s.frames[0].phases[1] = 0; }),
            "routine 'forward' is a phase of frame 'chunk' and again of frame "
            "'chunk'");
  EXPECT_EQ(
      check([](StepProblem &s) { s.frames[0].residuals[0].deathPhase = 2; }),
      "residual 'r0' of frame 'chunk' is born in phase 0 and dies in "
      "phase 2, expected a later one of the frame's 2");
  EXPECT_EQ(check([](StepProblem &s) { s.frames[0].residuals[0].birth = 4; }),
            "residual 'r0' of frame 'chunk' is born at instruction 4 of "
            "'forward', which has 4");
  EXPECT_EQ(check([](StepProblem &s) { s.frames[0].residuals[0].death = 5; }),
            "residual 'r0' of frame 'chunk' dies at instruction 5 of "
            "'backward', which has 4");
  EXPECT_EQ(check([](StepProblem &s) { s.tasks[4].routine = 9; }),
            "task 4 runs routine 9, but there are 3");
  EXPECT_EQ(check([](StepProblem &s) { std::swap(s.tasks[0], s.tasks[2]); }),
            "task 0 runs phase 1 of frame 'chunk' for instance 0, expected "
            "phase 0");
  EXPECT_EQ(check([](StepProblem &s) { s.tasks[3].routine = 2; }),
            "instance 1 of frame 'chunk' runs 1 of its 2 phases");
  EXPECT_EQ(check([](StepProblem &s) { s.taskBuffers[0].end = {0, 0}; }),
            "task buffer 'message' begins at (0, 0) and ends no later, at (0, "
            "0)");
  EXPECT_EQ(check([](StepProblem &s) { s.taskBuffers[0].end = {5, 1}; }),
            "task buffer 'message' ends in task 5, but there are 5");
  EXPECT_EQ(check([](StepProblem &s) { s.taskBuffers[0].begin = {0, 7}; }),
            "task buffer 'message' begins at instruction 7 of task 0, whose "
            "routine 'forward' has 4");
  EXPECT_THAT(check([](StepProblem &s) {
                s.persistentBuffers[0].size =
                    std::numeric_limits<int64_t>::max();
              }),
              HasSubstr("persistent buffer 'weight' exceed 2^61 bytes"));
  EXPECT_THAT(check([](StepProblem &s) {
                s.frames[0].residuals[0].size = int64_t(1) << 60;
              }),
              HasSubstr("residual 'r0' of frame 'chunk' exceed 2^61 bytes"));
  EXPECT_EQ(llvm::toString(
                planStep(StepProblem{{}, {}, {{0, 0}}, {}, {}, 1}).takeError()),
            "task 0 runs routine 0, but there are 0");
}

TEST(StepPlanVerifyTest, VerifyFindsEveryKindOfWrongPlan) {
  StepProblem step = makeSmallStep();
  llvm::Expected<StepPlan> plan = planStep(step);
  ASSERT_TRUE(static_cast<bool>(plan));
  auto verify = [&](auto change) {
    StepPlan changed = *plan;
    change(changed);
    return llvm::toString(changed.verify(step));
  };
  EXPECT_EQ(verify([](StepPlan &) {}), "");
  EXPECT_EQ(verify([](StepPlan &p) { p.scratchBases.pop_back(); }),
            "expected 5 scratch bases, found 4");
  EXPECT_EQ(verify([](StepPlan &p) { p.instances.pop_back(); }),
            "expected 2 frame instances, found 1");
  EXPECT_EQ(verify([](StepPlan &p) { p.frames[0].residualOffsets.pop_back(); }),
            "expected 2 residual offsets, found 1");
  EXPECT_THAT(verify([](StepPlan &p) { p.arenaSize -= 16; }),
              HasSubstr("of the arena, which has 272"));
  EXPECT_THAT(verify([](StepPlan &p) { p.persistentOffsets[0] += 8; }),
              HasSubstr("expected a multiple of 16"));
  EXPECT_THAT(verify([](StepPlan &p) { p.frames[0].residualOffsets[1] = 0; }),
              HasSubstr("share an address"));
  EXPECT_EQ(verify([](StepPlan &p) { p.instances[1].tasks[1] = 2; }),
            "the frame of task 1 is planned for other tasks than use it");
  EXPECT_THAT(verify([](StepPlan &p) {
                p.taskBufferOffsets[0] = p.instances[0].bases[0];
              }),
              HasSubstr("task buffer 'message'"));
  EXPECT_THAT(
      verify([](StepPlan &p) { p.routines[1].temporaries[0] = {true, 0}; }),
      HasSubstr("temporary 'g0' of routine 'backward'"));
  EXPECT_THAT(
      verify([](StepPlan &p) { p.routines[1].temporaries[0].offset += 16; }),
      HasSubstr("temporary 'g0' of routine 'backward' of 48 bytes"));
}

TEST(StepPlanVerifyTest, VerifyFindsWrongParts) {
  StepProblem step = makeThreePhases();
  StepPlan plan = llvm::cantFail(planStep(step));
  auto verify = [&](auto change) {
    StepPlan changed = plan;
    change(changed);
    return llvm::toString(changed.verify(step));
  };
  EXPECT_EQ(verify([](StepPlan &) {}), "");
  EXPECT_THAT(verify([](StepPlan &p) { p.frames[0].parts[1].begin += 16; }),
              HasSubstr("part 1 of frame 'chunk' is at 80"));
  EXPECT_THAT(verify([](StepPlan &p) { p.frames[0].parts[2].last.phase = 3; }),
              HasSubstr("part 2 of frame 'chunk' is there from"));
  EXPECT_THAT(verify([](StepPlan &p) { p.frames[0].parts.pop_back(); }),
              HasSubstr("but its parts have 96"));
  EXPECT_THAT(verify([](StepPlan &p) {
                p.frames[0].parts[0].size -= 16;
                p.frames[0].parts[1].begin -= 16;
                p.frames[0].parts[1].size += 16;
              }),
              HasSubstr("lies in two parts of the frame"));
  EXPECT_THAT(
      verify([](StepPlan &p) { p.frames[0].parts[0].last.instruction = 1; }),
      HasSubstr("but its part of the frame is there from"));
  EXPECT_EQ(verify([](StepPlan &p) { p.instances[0].bases.pop_back(); }),
            "the frame of task 0 has 2 bases, but 3 parts");
}

TEST(StepPlanVerifyTest, VerifyAgreesWithTheExpandedStepOnParts) {
  int64_t numLegal = 0, numIllegal = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    StepProblem step = makeRandomPhases(seed);
    StepPlanOptions options;
    options.searchWork = options.shapeWork = 10'000;
    StepPlan plan = llvm::cantFail(planStep(step, options));
    std::mt19937 random(seed);
    // One part of one instance is elsewhere.
    FrameInstance &instance = plan.instances[random() % plan.instances.size()];
    const std::vector<FramePart> &parts = plan.frames[instance.frame].parts;
    size_t number = random() % parts.size();
    int64_t places = (plan.arenaSize - parts[number].size) / 16 + 1;
    instance.bases[number] = random() % places * 16;
    ExpandedStep expanded = expandStep(step, &plan);
    bool isLegal =
        llvm::toString(expanded.problem.verify(expanded.offsets)).empty();
    std::string error = llvm::toString(plan.verify(step));
    EXPECT_EQ(error.empty(), isLegal) << error;
    ++(isLegal ? numLegal : numIllegal);
  }
  EXPECT_GT(numLegal, 20);
  EXPECT_GT(numIllegal, 20);
}

/// Refuses exactly the plans in which two buffers of the expanded step meet.
TEST(StepPlanVerifyTest, VerifyAgreesWithTheExpandedStep) {
  int64_t numLegal = 0, numIllegal = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    StepProblem step = makeRandomStep(seed);
    StepPlan plan = llvm::cantFail(planStep(step));
    std::mt19937 random(seed);
    auto drawOffset = [&](int64_t size) -> int64_t {
      int64_t places = (plan.arenaSize - size) / step.alignment + 1;
      return random() % places * step.alignment;
    };
    for (const auto &[buffer, offset] :
         llvm::zip(step.taskBuffers, plan.taskBufferOffsets))
      offset = drawOffset(step.alignedSize(buffer.size));
    if (!step.tasks.empty()) {
      size_t task = random() % step.tasks.size();
      int64_t size = plan.routines[step.tasks[task].routine].scratchSize;
      if (size > 0)
        plan.scratchBases[task] = drawOffset(size);
    }
    ExpandedStep expanded = expandStep(step, &plan);
    bool isLegal =
        llvm::toString(expanded.problem.verify(expanded.offsets)).empty();
    std::string error = llvm::toString(plan.verify(step));
    EXPECT_EQ(error.empty(), isLegal) << error;
    ++(isLegal ? numLegal : numIllegal);
  }
  EXPECT_GT(numLegal, 300);
  EXPECT_GT(numIllegal, 300);
}

} // namespace
