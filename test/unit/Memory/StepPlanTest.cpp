//===- StepPlanTest.cpp - Compact plans of training steps -----------------===//

#include "mf/Memory/StepPlan.h"
#include "ExpandedStep.h"
#include "TransformerStep.h"
#include "llvm/ADT/STLExtras.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <random>

using namespace mf::memory;
using testing::HasSubstr;

namespace {

/// Forward and backward of one chunk; two micro-batches, at most two in flight.
StepProblem makeSmallStep() {
  StepProblem step;
  step.alignment = 16;
  step.routines = {
      {"forward", 4, {{"t0", 32, 0, 2}, {"t1", 16, 2, 4}}},
      {"backward", 4, {{"g0", 48, 0, 2}, {"g1", 32, 2, 4}, {"g2", 0, 1, 3}}},
      {"update", 1, {{"u", 64, 0, 1}}}};
  step.frames = {
      {"chunk", {0, 1}, {{"r0", 16, 0, 0, 1, 4}, {"r1", 40, 0, 1, 1, 2}}}};
  step.tasks = {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 0}};
  step.taskBuffers = {{"message", 16, {0, 0}, {1, 2}}};
  step.persistentBuffers = {{"weight", 100}};
  return step;
}

void expectLegal(const StepProblem &step, const StepPlan &plan) {
  EXPECT_EQ(llvm::toString(plan.verify(step)), "");
  ExpandedStep expanded = expandStep(step, &plan);
  ASSERT_EQ(llvm::toString(expanded.problem.check()), "");
  EXPECT_EQ(llvm::toString(expanded.problem.verify(expanded.offsets)), "");
  EXPECT_EQ(expanded.problem.maxLive().bytes, plan.bound.bytes);
  EXPECT_EQ(step.maxLive().bytes, plan.bound.bytes);
  EXPECT_GE(plan.arenaSize, plan.bound.bytes);
  int64_t live = 0;
  for (const LiveBuffer &buffer : step.liveAt(plan.bound.moment))
    live += buffer.size;
  EXPECT_EQ(live, plan.bound.bytes);
}

TEST(StepPlanTest, PlansASmallStep) {
  StepProblem step = makeSmallStep();
  // Task 1 at instruction 1: weight 112, both frames of 64, t0 32, message 16.
  StepLiveBound bound = step.maxLive();
  EXPECT_EQ(bound.bytes, 112 + 64 + 64 + 32 + 16);
  EXPECT_TRUE((bound.moment == StepMoment{1, 1}));
  llvm::Expected<StepPlan> plan = planStep(step);
  ASSERT_TRUE(static_cast<bool>(plan));
  expectLegal(step, *plan);
  EXPECT_EQ(plan->arenaSize, bound.bytes);
  EXPECT_TRUE(plan->isOptimal());
  std::string text;
  llvm::raw_string_ostream os(text);
  plan->print(step, os);
  EXPECT_THAT(text, HasSubstr("arena 288 bytes, bound 288 bytes at instruction "
                              "1 of task 1, gap 0.000 %\n"));
  EXPECT_THAT(text, HasSubstr("\n  residual 'r1' at 16 size 40\n"));
  EXPECT_THAT(text, HasSubstr("\ntask 3 'backward' instance 1 frame "));
}

TEST(StepPlanTest, ShowsWhatIsAliveLargestFirst) {
  StepProblem step = makeSmallStep();
  std::vector<std::string> names;
  for (const LiveBuffer &buffer : step.liveAt({2, 2}))
    names.push_back((buffer.owner + "/" + buffer.name + "/" +
                     std::to_string(buffer.instance) + "/" +
                     std::to_string(buffer.size))
                        .str());
  EXPECT_THAT(names, testing::ElementsAre("/weight/-1/112", "chunk/r1/1/48",
                                          "backward/g1/0/32", "chunk/r0/0/16",
                                          "chunk/r0/1/16", "backward/g2/0/0"));
}

TEST(StepPlanTest, CheckNamesWhatIsWrong) {
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

TEST(StepPlanTest, VerifyFindsEveryKindOfWrongPlan) {
  StepProblem step = makeSmallStep();
  llvm::Expected<StepPlan> plan = planStep(step);
  ASSERT_TRUE(static_cast<bool>(plan));
  auto verify = [&](auto change) {
    StepPlan changed = *plan;
    change(changed);
    return llvm::toString(changed.verify(step));
  };
  EXPECT_EQ(verify([](StepPlan &) {}), "");
  EXPECT_EQ(verify([](StepPlan &p) { p.tasks.pop_back(); }),
            "expected 5 tasks, found 4");
  EXPECT_EQ(verify([](StepPlan &p) { p.frames[0].residualOffsets.pop_back(); }),
            "expected 2 residual offsets, found 1");
  EXPECT_THAT(verify([](StepPlan &p) { p.arenaSize -= 16; }),
              HasSubstr("of the arena, which has 272"));
  EXPECT_THAT(verify([](StepPlan &p) { p.persistentOffsets[0] += 8; }),
              HasSubstr("expected a multiple of 16"));
  EXPECT_THAT(verify([](StepPlan &p) { p.frames[0].residualOffsets[1] = 0; }),
              HasSubstr("share an address"));
  EXPECT_THAT(verify([](StepPlan &p) { p.tasks[2].frameBases[0] += 16; }),
              HasSubstr("task 2 has the frame base"));
  EXPECT_THAT(verify([](StepPlan &p) {
                p.tasks[1].frameBases[0] = p.tasks[3].frameBases[0] =
                    p.tasks[0].frameBases[0];
              }),
              HasSubstr("frame 'chunk' of task 0"));
  EXPECT_THAT(verify([](StepPlan &p) {
                p.tasks[2].scratchBase = p.tasks[2].frameBases[0];
              }),
              HasSubstr("scratch of task 2"));
  EXPECT_THAT(verify([](StepPlan &p) {
                p.taskBufferOffsets[0] = p.tasks[0].frameBases[0];
              }),
              HasSubstr("task buffer 'message'"));
  EXPECT_THAT(verify([](StepPlan &p) {
                p.routines[1].temporaries[0] = {TemporaryPlace::Region::Frame,
                                                0};
              }),
              HasSubstr("temporary 'g0' of routine 'backward'"));
  EXPECT_THAT(
      verify([](StepPlan &p) { p.routines[1].temporaries[0].offset += 16; }),
      HasSubstr("temporary 'g0' of routine 'backward' of 48 bytes"));
}

/// One chunk whose weight gradients are apart: "first" dies where "kept" is
/// born, "through" lives through all phases.
StepProblem makeThreePhases() {
  StepProblem step;
  step.alignment = 16;
  step.routines = {{"forward", 2, {}}, {"input", 4, {}}, {"weights", 2, {}}};
  step.frames = {{"chunk",
                  {0, 1, 2},
                  {{"first", 64, 0, 0, 1, 2},
                   {"through", 32, 0, 1, 2, 1},
                   {"kept", 64, 1, 2, 2, 2}}}};
  step.tasks = {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 0}, {2, 1}};
  return step;
}

TEST(StepPlanTest, PlacesThePartsOfAFrameApart) {
  StepProblem step = makeThreePhases();
  StepPlan plan = llvm::cantFail(planStep(step));
  expectLegal(step, plan);
  EXPECT_EQ(plan.frames[0].parts.size(), 3u);
  EXPECT_EQ(plan.arenaSize, 2 * (64 + 32));
  StepPlanOptions whole;
  whole.splitFrames = false;
  plan = llvm::cantFail(planStep(step, whole));
  expectLegal(step, plan);
  EXPECT_EQ(plan.frames[0].parts.size(), 1u);
}

TEST(StepPlanTest, VerifyFindsWrongParts) {
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
  EXPECT_THAT(verify([](StepPlan &p) { p.tasks[2].frameBases.pop_back(); }),
              HasSubstr("task 2 has 2 frame bases, but its frame has 3 parts"));
}

StepProblem makeRandomStep(unsigned seed) {
  std::mt19937 random(seed);
  auto draw = [&](int64_t bound) -> int64_t { return random() % bound; };
  StepProblem step;
  step.alignment = 1 << draw(6);
  int64_t numFrames = draw(3);
  for (int64_t i = 0, e = numFrames * 3 + 1 + draw(2); i < e; ++i) {
    Routine routine;
    routine.name = "r" + std::to_string(i);
    routine.length = 1 + draw(8);
    for (int64_t t = draw(7); t > 0; --t) {
      int64_t begin = draw(routine.length);
      routine.temporaries.push_back(
          {"t", draw(200), begin, begin + 1 + draw(routine.length - begin)});
    }
    step.routines.push_back(routine);
  }
  for (int64_t f = 0; f < numFrames; ++f) {
    ResidualFrame frame;
    frame.name = "f" + std::to_string(f);
    for (int64_t phase = 0, e = 1 + draw(3); phase < e; ++phase)
      frame.phases.push_back(f * 3 + phase);
    int64_t phases = frame.phases.size();
    for (int64_t r = phases > 1 ? draw(6) : 0; r > 0; --r) {
      int64_t birth = draw(phases - 1);
      int64_t death = birth + 1 + draw(phases - birth - 1);
      frame.residuals.push_back(
          {"v", draw(200), birth,
           draw(step.routines[frame.phases[birth]].length), death,
           draw(step.routines[frame.phases[death]].length + 1)});
    }
    step.frames.push_back(frame);
  }
  // Every instance runs its phases in order, interleaved at random.
  std::vector<std::pair<int64_t, int64_t>> running;
  for (int64_t instances = draw(6), next = 0;
       next < instances || !running.empty();) {
    if (next < instances && (running.empty() || draw(2) == 0)) {
      if (numFrames > 0)
        running.push_back({draw(numFrames), next * 10});
      ++next;
      continue;
    }
    size_t pick = draw(running.size());
    auto &[frame, state] = running[pick];
    step.tasks.push_back({step.frames[frame].phases[state % 10], state / 10});
    if (++state % 10 == static_cast<int64_t>(step.frames[frame].phases.size()))
      running.erase(running.begin() + pick);
    if (draw(4) == 0)
      step.tasks.push_back({static_cast<int64_t>(step.routines.size()) - 1, 0});
  }
  int64_t numTasks = step.tasks.size();
  for (int64_t i = draw(5); i > 0 && numTasks > 0; --i) {
    auto drawMoment = [&] {
      int64_t task = draw(numTasks);
      return StepMoment{
          task, draw(step.routines[step.tasks[task].routine].length + 1)};
    };
    StepMoment a = drawMoment(),
               b = draw(4) == 0 ? StepMoment{numTasks, 0} : drawMoment();
    if (b < a)
      std::swap(a, b);
    if (a < b)
      step.taskBuffers.push_back({"b" + std::to_string(i), draw(300), a, b});
  }
  for (int64_t i = draw(3); i > 0; --i)
    step.persistentBuffers.push_back({"p" + std::to_string(i), draw(500)});
  return step;
}

TEST(StepPlanTest, PlansRandomStepsLegally) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    StepProblem step = makeRandomStep(seed);
    ASSERT_EQ(llvm::toString(step.check()), "");
    llvm::Expected<StepPlan> plan = planStep(step);
    ASSERT_TRUE(static_cast<bool>(plan));
    expectLegal(step, *plan);
    if (HasFailure())
      return;
  }
}

/// Chunks of some layers whose weight gradients are apart, and of which several
/// are alive. Of residuals all pairs of phases, of which few belong to no
/// layer.
StepProblem makeRandomPhases(unsigned seed) {
  std::mt19937 random(seed);
  auto draw = [&](int64_t bound) -> int64_t { return random() % bound; };
  StepProblem step;
  step.alignment = 16;
  int64_t numFrames = 1 + draw(2);
  for (int64_t f = 0; f < numFrames; ++f) {
    int64_t layers = 1 + draw(40), perLayer = 1 + draw(3);
    ResidualFrame frame;
    frame.name = "f" + std::to_string(f);
    for (int64_t phase = 0; phase < 3; ++phase) {
      Routine routine;
      routine.name = frame.name + "p" + std::to_string(phase);
      routine.length = layers * perLayer;
      for (int64_t t = draw(20); t > 0; --t) {
        int64_t begin = draw(routine.length);
        routine.temporaries.push_back(
            {"t", draw(300), begin,
             std::min(routine.length, begin + 1 + draw(4))});
      }
      frame.phases.push_back(step.routines.size());
      step.routines.push_back(routine);
    }
    for (int64_t layer = 0; layer < layers; ++layer)
      for (int64_t r = draw(5); r > 0; --r) {
        int64_t birth = draw(2), death = birth + 1 + draw(2 - birth);
        // Backward takes the layers in reverse.
        auto place = [&](int64_t phase) {
          int64_t position = phase == 0 ? layer : layers - 1 - layer;
          return position * perLayer + draw(perLayer);
        };
        std::optional<int64_t> owner;
        if (draw(8) > 0)
          owner = layer;
        frame.residuals.push_back(
            {"v", draw(300), birth, place(birth), death, place(death), owner});
      }
    step.frames.push_back(frame);
  }
  // By instance: its frame and the phase that runs next.
  std::vector<std::pair<int64_t, int64_t>> instances;
  std::vector<size_t> running;
  size_t numInstances = 1 + draw(10), limit = 1 + draw(6);
  while (instances.size() < numInstances || !running.empty()) {
    if (instances.size() < numInstances && running.size() < limit &&
        (running.empty() || draw(2) == 0)) {
      running.push_back(instances.size());
      instances.push_back({draw(numFrames), 0});
    }
    size_t pick = draw(running.size());
    auto &[frame, phase] = instances[running[pick]];
    step.tasks.push_back({step.frames[frame].phases[phase],
                          static_cast<int64_t>(running[pick])});
    if (++phase == 3)
      running.erase(running.begin() + pick);
  }
  return step;
}

TEST(StepPlanTest, PlansRandomPhasesLegally) {
  int64_t numSplit = 0, numSmaller = 0, numLarger = 0;
  for (unsigned seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    StepProblem step = makeRandomPhases(seed);
    ASSERT_EQ(llvm::toString(step.check()), "");
    StepPlanOptions options;
    options.searchWork = 100'000;
    options.shapeWork = 100'000;
    StepPlan plan = llvm::cantFail(planStep(step, options));
    expectLegal(step, plan);
    options.splitFrames = false;
    StepPlan whole = llvm::cantFail(planStep(step, options));
    expectLegal(step, whole);
    if (HasFailure())
      return;
    numSplit += llvm::any_of(plan.frames, [](const ResidualFrameLayout &frame) {
      return frame.parts.size() > 4;
    });
    numSmaller += plan.arenaSize < whole.arenaSize;
    numLarger += plan.arenaSize > whole.arenaSize;
  }
  EXPECT_GT(numSplit, 20);
  EXPECT_GT(numSmaller, 2 * numLarger);
}

/// A task buffer of 64 bytes from the second half of forward, where all of its
/// scratch is free, to the first instruction of backward.
StepProblem makeStepWithHole() {
  StepProblem step;
  step.alignment = 16;
  step.routines = {{"forward", 4, {{"t", 64, 0, 2}}},
                   {"backward", 4, {{"g", 64, 1, 4}}}};
  step.tasks = {{0, 0}, {1, 0}};
  step.taskBuffers = {{"prefetched", 64, {0, 2}, {1, 1}}};
  return step;
}

TEST(StepPlanTest, PutsTaskBuffersIntoHolesOfScratch) {
  StepProblem step = makeStepWithHole();
  StepPlan plan = llvm::cantFail(planStep(step));
  expectLegal(step, plan);
  EXPECT_EQ(plan.arenaSize, 64);
}

/// Forward keeps nothing: all values are copied out until its end, and come
/// back for backward as soon as they are out, while the next forward runs. What
/// is copied out last is still there when the first ones are back.
StepProblem makeSwappedStep(int64_t layers, int64_t microBatches) {
  StepProblem step;
  step.alignment = 16;
  Routine forward{"forward", layers * 2, {}}, backward{"backward", layers, {}};
  for (int64_t layer = 0; layer < layers; ++layer) {
    forward.temporaries.push_back(
        {"value", 320, layer, std::min(layers + layer + 1, layers * 2)});
    forward.temporaries.push_back({"work", 160, layer, layer + 1});
    backward.temporaries.push_back({"gradient", 160, layer, layer + 1});
  }
  step.routines = {forward, backward};
  step.tasks = {{0, 0}};
  for (int64_t i = 1; i < microBatches; ++i) {
    step.tasks.push_back({0, i});
    step.tasks.push_back({1, i - 1});
  }
  step.tasks.push_back({1, microBatches - 1});
  step.frames = {{"chunk", {0, 1}, {{"input", 64, 0, 0, 1, layers}}}};
  int64_t numTasks = step.tasks.size();
  for (int64_t task = 0; task < numTasks; ++task) {
    if (step.tasks[task].routine != 0)
      continue;
    int64_t user = std::min(task == 0 ? 2 : task + 2, numTasks - 1);
    for (int64_t layer = 0; layer < layers; ++layer)
      step.taskBuffers.push_back(
          {"prefetched", 320, {task, layers * 2 - 1}, {user, layers - layer}});
  }
  return step;
}

TEST(StepPlanTest, PutsWhatIsPrefetchedWhereForwardWas) {
  StepProblem step = makeSwappedStep(20, 12);
  StepPlan plan = llvm::cantFail(planStep(step));
  expectLegal(step, plan);
  EXPECT_LE(plan.getGap(), 0.001);
}

TEST(StepPlanTest, VerifyTakesAHoleForAsLongAsItIsOne) {
  StepProblem step = makeStepWithHole();
  StepPlan plan = llvm::cantFail(planStep(step));
  EXPECT_EQ(llvm::toString(plan.verify(step)), "");
  step.taskBuffers[0].begin = {0, 1};
  EXPECT_THAT(llvm::toString(plan.verify(step)),
              HasSubstr("temporary 't' in scratch of task 0 at [0, 64) and "
                        "task buffer 'prefetched' at [0, 64) share"));
  step.taskBuffers[0] = {"prefetched", 64, {0, 2}, {1, 2}};
  EXPECT_THAT(llvm::toString(plan.verify(step)),
              HasSubstr("temporary 'g' in scratch of task 1"));
}

TEST(StepPlanTest, VerifyAgreesWithTheExpandedStepOnParts) {
  int64_t numLegal = 0, numIllegal = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    StepProblem step = makeRandomPhases(seed);
    StepPlanOptions options;
    options.searchWork = options.shapeWork = 10'000;
    StepPlan plan = llvm::cantFail(planStep(step, options));
    std::mt19937 random(seed);
    // One part of one instance is elsewhere, in all of its tasks.
    int64_t instance = step.tasks[random() % step.tasks.size()].instance;
    auto isOfInstance = [&](const Task &task) {
      return task.instance == instance;
    };
    const Task &first = *llvm::find_if(step.tasks, isOfInstance);
    const ResidualFrame &frame =
        *llvm::find_if(step.frames, [&](const ResidualFrame &frame) {
          return frame.phases[0] == first.routine;
        });
    const std::vector<FramePart> &parts =
        plan.frames[&frame - step.frames.data()].parts;
    size_t number = random() % parts.size();
    int64_t places = (plan.arenaSize - parts[number].size) / 16 + 1;
    int64_t offset = random() % places * 16;
    for (const auto &[task, bases] : llvm::zip(step.tasks, plan.tasks))
      if (isOfInstance(task))
        bases.frameBases[number] = offset;
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
TEST(StepPlanTest, VerifyAgreesWithTheExpandedStep) {
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
        plan.tasks[task].scratchBase = drawOffset(size);
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

TEST(StepPlanTest, PlansTransformersLegally) {
  for (int64_t stages : {1, 2, 4})
    for (int64_t chunks : {1, 2})
      for (int64_t stage = 0; stage < stages; ++stage)
        for (int64_t recomputed : {0, 1, 100}) {
          TransformerStepOptions options;
          options.layers = 8;
          options.stages = stages;
          options.stage = stage;
          options.chunksPerStage = chunks;
          options.fullRecomputeLayers = recomputed;
          options.selectiveRecompute = recomputed == 1;
          StepProblem step = makeTransformerStep(options);
          ASSERT_EQ(llvm::toString(step.check()), "");
          llvm::Expected<StepPlan> plan = planStep(step);
          ASSERT_TRUE(static_cast<bool>(plan));
          expectLegal(step, *plan);
        }
}

TEST(StepPlanTest, SameInputSamePlan) {
  TransformerStepOptions options;
  options.stages = 4;
  options.stage = 1;
  options.chunksPerStage = 2;
  StepProblem step = makeTransformerStep(options);
  auto print = [&] {
    std::string text;
    llvm::raw_string_ostream os(text);
    llvm::cantFail(planStep(step)).print(step, os);
    return text;
  };
  EXPECT_EQ(print(), print());
}

} // namespace
