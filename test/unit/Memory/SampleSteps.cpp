//===- SampleSteps.cpp - Steps that tests of the planner share ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "SampleSteps.h"
#include "ExpandedStep.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <random>

using namespace mf::memory;

StepProblem mf::memory::makeSmallStep() {
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

StepProblem mf::memory::makeThreePhases() {
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

StepProblem mf::memory::makeStepWithHole() {
  StepProblem step;
  step.alignment = 16;
  step.routines = {{"forward", 4, {{"t", 64, 0, 2}}},
                   {"backward", 4, {{"g", 64, 1, 4}}}};
  step.tasks = {{0, 0}, {1, 0}};
  step.taskBuffers = {{"prefetched", 64, {0, 2}, {1, 1}}};
  return step;
}

StepProblem mf::memory::makeSwappedStep(int64_t layers, int64_t microBatches) {
  StepProblem step;
  step.alignment = 16;
  RoutineMemory forward{"forward", layers * 2, {}},
      backward{"backward", layers, {}};
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

StepProblem mf::memory::makeRandomStep(unsigned seed) {
  std::mt19937 random(seed);
  auto draw = [&](int64_t bound) -> int64_t { return random() % bound; };
  StepProblem step;
  step.alignment = 1 << draw(6);
  int64_t numFrames = draw(3);
  for (int64_t i = 0, e = numFrames * 3 + 1 + draw(2); i < e; ++i) {
    RoutineMemory routine;
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
    FrameMemory frame;
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

StepProblem mf::memory::makeRandomPhases(unsigned seed) {
  std::mt19937 random(seed);
  auto draw = [&](int64_t bound) -> int64_t { return random() % bound; };
  StepProblem step;
  step.alignment = 16;
  int64_t numFrames = 1 + draw(2);
  for (int64_t f = 0; f < numFrames; ++f) {
    int64_t layers = 1 + draw(40), perLayer = 1 + draw(3);
    FrameMemory frame;
    frame.name = "f" + std::to_string(f);
    for (int64_t phase = 0; phase < 3; ++phase) {
      RoutineMemory routine;
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

StepProblem mf::memory::makeRandomTemporaries(unsigned seed) {
  std::mt19937 random(seed);
  auto draw = [&](int64_t bound) -> int64_t { return random() % bound; };
  StepProblem step;
  step.alignment = 16;
  const int64_t numFrames = 1 + draw(2), layers = 2 + draw(30);
  for (int64_t f = 0; f < numFrames; ++f) {
    FrameMemory frame;
    frame.name = "f" + std::to_string(f);
    for (int64_t phase = 0; phase < 2; ++phase) {
      RoutineMemory routine;
      routine.name = frame.name + "p" + std::to_string(phase);
      routine.length = layers * (4 + draw(8));
      for (int64_t t = layers * (1 + draw(8)); t > 0; --t) {
        int64_t begin = draw(routine.length);
        routine.temporaries.push_back(
            {"t", 100 + draw(2000), begin,
             std::min(routine.length, begin + 1 + draw(12))});
      }
      frame.phases.push_back(step.routines.size());
      step.routines.push_back(std::move(routine));
    }
    for (int64_t layer = 0; layer < layers; ++layer)
      frame.residuals.push_back(
          {"v", draw(100), 0,
           step.routines[frame.phases[0]].length * layer / layers, 1,
           step.routines[frame.phases[1]].length * (layers - layer) / layers});
    step.frames.push_back(std::move(frame));
  }
  for (int64_t i = 0, e = 1 + draw(3); i < e; ++i)
    for (int64_t phase = 0; phase < 2; ++phase)
      for (int64_t f = 0; f < numFrames; ++f)
        step.tasks.push_back(
            {step.frames[phase == 0 ? f : numFrames - 1 - f].phases[phase], i});
  for (int64_t i = draw(4); i > 0; --i)
    step.persistentBuffers.push_back({"p" + std::to_string(i), draw(500)});
  return step;
}

void mf::memory::expectLegal(const StepProblem &step, const StepPlan &plan) {
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
