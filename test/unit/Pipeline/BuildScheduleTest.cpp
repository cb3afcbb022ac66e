//===- BuildScheduleTest.cpp - Policies, rules and the sort ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ScheduleTesting.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <ctime>
#include <limits>

using namespace mf::schedule;
using testing::HasSubstr;

namespace {

TEST(BuildScheduleTest, AllForwardsThenAllBackwards) {
  EXPECT_EQ(printToString(build("gpipe", 2, 1, 2)),
            "stage 0: F0 F1 B0 B1\nstage 1: F0 F1 B0 B1\n");
  EXPECT_EQ(printToString(build("gpipe", 2, 2, 2)),
            "stage 0: F0.0 F0.1 F2.0 F2.1 B2.0 B2.1 B0.0 B0.1\n"
            "stage 1: F1.0 F1.1 F3.0 F3.1 B3.0 B3.1 B1.0 B1.1\n");
}

TEST(BuildScheduleTest, OnePieceIsTheWholeSequence) {
  EXPECT_EQ(printToString(build("seq1f1b", 3, 1, 4)),
            printToString(build("1f1b", 3, 1, 4)));
  EXPECT_EQ(printToString(build("seq1f1b-interleaved", 3, 2, 7)),
            printToString(build("interleaved", 3, 2, 7)));
  EXPECT_EQ(printToString(build("seq1f1b-interleaved-low-memory", 3, 2, 7)),
            printToString(build("interleaved-low-memory", 3, 2, 7)));
}

/// As published: the bubble of as many times the micro-batches, for the
/// activations of one further sequence at most.
TEST(BuildScheduleTest, PiecesMakeBubblesAndPeaksSmaller) {
  constexpr int64_t stages = 4, microBatches = 8, pieces = 4;
  Schedule schedule = build("seq1f1b", stages, 1, microBatches, pieces);
  EXPECT_DOUBLE_EQ(schedule.getUnitBubble(),
                   double(stages - 1) / (microBatches * pieces));
  for (int64_t stage = 0; stage < stages; ++stage)
    EXPECT_EQ(schedule.getMaxInFlight(stage), stages - stage + pieces - 1);
}

TEST(BuildScheduleTest, AllShapesRun) {
  int64_t schedules = 0;
  forEachSchedule(5, 3, 11, [&](const Schedule &schedule) {
    ++schedules;
    EXPECT_TRUE(runsThrough(schedule)) << printToString(schedule);
    EXPECT_EQ(getText(schedule.verify()), "") << printToString(schedule);
  });
  EXPECT_GT(schedules, 300);
}

TEST(BuildScheduleTest, BackwardsEndWithTheFirstTrainedChunk) {
  int64_t schedules = 0;
  forEachSchedule(4, 2, 9, [&](const Schedule &whole) {
    for (int64_t first = 1; first < whole.pipeline.getNumChunks(); ++first) {
      Pipeline pipeline = whole.pipeline;
      pipeline.firstTrained = first;
      llvm::Expected<Schedule> schedule =
          buildSchedule(*llvm::cantFail(findPolicy(whole.name)), pipeline);
      ASSERT_TRUE(bool(schedule)) << getText(schedule.takeError());
      ++schedules;
      EXPECT_EQ(getText(schedule->verify()), "") << printToString(*schedule);
      EXPECT_EQ(getText(verifyTransfers(*schedule, planTransfers(*schedule))),
                "")
          << printToString(*schedule);
      for (const std::vector<Task> &tasks : schedule->stages)
        for (const Task &task : tasks)
          EXPECT_TRUE(task.phase == Phase::Forward || task.chunk >= first)
              << printToString(*schedule);
      if (pipeline.getNumChunks() == pipeline.stages) {
        EXPECT_EQ(schedule->getMaxInFlight(0), 0);
      }
      EXPECT_LE(getUnitEnd(*schedule), getUnitEnd(whole));
    }
  });
  EXPECT_GT(schedules, 300);
  Pipeline pipeline{2, {0, 1}, 2};
  pipeline.firstTrained = 1;
  EXPECT_EQ(printToString(llvm::cantFail(
                buildSchedule(*llvm::cantFail(findPolicy("1f1b")), pipeline))),
            "stage 0: F0 F1\n"
            "stage 1: F0 B0 F1 B1\n");
  pipeline.firstTrained = 2;
  EXPECT_EQ(getText(pipeline.check()),
            "backwards end with chunk 2, expected one of the chunks 0 to 1");
}

TEST(BuildScheduleTest, ActivationsLiveUntilTheWeightGradient) {
  Schedule split{"",
                 {1, {0}, 2},
                 true,
                 {{{Phase::Forward, 0, 0},
                   {Phase::InputGradient, 0, 0},
                   {Phase::Forward, 0, 1},
                   {Phase::WeightGradient, 0, 0},
                   {Phase::InputGradient, 0, 1},
                   {Phase::WeightGradient, 0, 1}}}};
  EXPECT_EQ(getText(split.verify()), "");
  EXPECT_EQ(split.getMaxInFlight(0), 2);
}

TEST(BuildScheduleTest, PoliciesRefuseWhatTheyCannotSchedule) {
  EXPECT_EQ(getText(tryBuild("interleaved", 2, 2, 4, 2).takeError()),
            "schedule 'interleaved' takes whole micro-batches, but they are "
            "cut into 2 pieces of their sequence (schedules 'seq1f1b' and "
            "'seq1f1b-interleaved' take these)");
  EXPECT_EQ(getText(tryBuild("zero-bubble-v", 4, 3, 8).takeError()),
            "schedule 'zero-bubble-v' takes two chunks per stage, but 4 stages "
            "have 12 chunks, expected 8");
  for (const char *name : {"zero-bubble-v", "dualpipe-v"})
    EXPECT_EQ(getText(tryBuild(name, 4, 2, 7).takeError()),
              std::string("schedule '") + name +
                  "' takes at least two micro-batches per stage, but 4 stages "
                  "have 7, expected 8 or more");
  auto v = llvm::cantFail(findPolicy("zero-bubble-v"));
  auto interleaved = llvm::cantFail(findPolicy("interleaved"));
  EXPECT_EQ(getText(buildSchedule(*v, interleaved->place(2, 2, 4)).takeError()),
            "schedule 'zero-bubble-v' cannot place chunk 2 on stage 0, "
            "expected stage 1");
  EXPECT_EQ(getText(buildSchedule(*interleaved, v->place(2, 2, 4)).takeError()),
            "schedule 'interleaved' cannot place chunk 2 on stage 1, expected "
            "stage 0");
}

TEST(BuildScheduleTest, MalformedPipelinesAreRefused) {
  auto refuse = [](const Pipeline &pipeline) {
    return getText(buildSchedule(*llvm::cantFail(findPolicy("gpipe")), pipeline)
                       .takeError());
  };
  EXPECT_EQ(refuse({0, {}, 1}), "a pipeline of 0 stages, expected at least 1");
  EXPECT_EQ(refuse({1, {0}, 0}),
            "a pipeline for 0 micro-batches, expected at least 1");
  EXPECT_EQ(refuse({2, {0}, 1}),
            "1 chunks for 2 stages, expected at least one for each stage");
  EXPECT_EQ(refuse({2, {0, 2}, 1}),
            "chunk 1 is on stage 2, expected one of the stages 0 to 1");
  EXPECT_EQ(refuse({2, {1, 1}, 1}), "stage 0 has no chunk, expected at least "
                                    "one");
  EXPECT_EQ(refuse({1, {0}, int64_t(1) << 62}),
            "1 chunks for 4611686018427387904 micro-batches, expected at most "
            "10000000 pairs of chunk and micro-batch");
}

/// Depth first: whatever is furthest along goes first. No rules at all.
class Eager : public Policy {
public:
  llvm::StringRef getName() const override { return "eager"; }
  llvm::StringRef getSummary() const override { return "the furthest first"; }
  void addRules(const Pipeline &, int64_t, Rules &) const override {}
  int64_t getPriority(const Pipeline &pipeline,
                      const Task &task) const override {
    return task.phase == Phase::Forward ? 0 : -1 - task.chunk;
  }
};

TEST(BuildScheduleTest, PolicyOfATest) {
  Eager eager;
  Schedule schedule =
      llvm::cantFail(buildSchedule(eager, eager.place(2, 1, 3)));
  EXPECT_EQ(schedule.name, "eager");
  EXPECT_EQ(printToString(schedule), "stage 0: F0 F1 F2 B0 B1 B2\n"
                                     "stage 1: F0 B0 F1 B1 F2 B2\n");
}

/// Rules given by a function.
class Given : public Policy {
public:
  explicit Given(std::function<void(int64_t, Rules &)> give)
      : give(std::move(give)) {}
  llvm::StringRef getName() const override { return "given"; }
  llvm::StringRef getSummary() const override { return "rules of a test"; }
  void addRules(const Pipeline &, int64_t stage, Rules &rules) const override {
    give(stage, rules);
  }

private:
  std::function<void(int64_t, Rules &)> give;
};

TEST(BuildScheduleTest, ContradictingRulesAreRefused) {
  auto refuse = [](std::function<void(int64_t, Rules &)> give) {
    Given given(std::move(give));
    return getText(buildSchedule(given, given.place(2, 1, 2)).takeError());
  };
  EXPECT_EQ(refuse([](int64_t stage, Rules &rules) {
              if (stage == 1)
                rules.addBefore({Phase::Backward, 1, 0},
                                {Phase::Forward, 1, 0});
            }),
            "the rules of schedule 'given' contradict the order of the data or "
            "one another: F0 of stage 1 behind B0 of stage 1 behind F0");
  // Each is well on its stage; together they are not.
  std::string text = refuse([](int64_t stage, Rules &rules) {
    if (stage == 0)
      rules.addBefore({Phase::Backward, 0, 0}, {Phase::Forward, 0, 1});
    else
      rules.addBefore({Phase::Forward, 1, 1}, {Phase::Backward, 1, 0});
  });
  EXPECT_THAT(text, HasSubstr("F1 of stage 0 behind B0 of stage 0"));
  EXPECT_THAT(text, HasSubstr("B0 of stage 1 behind F1 of stage 1"));
  EXPECT_EQ(refuse([](int64_t, Rules &rules) {
              rules.addBefore({Phase::Forward, 0, 0}, {Phase::Backward, 0, 0});
            }),
            "schedule 'given' has a rule for F0 of chunk 0, expected a task of "
            "stage 1");
  EXPECT_EQ(refuse([](int64_t stage, Rules &rules) {
              int32_t chunk = stage;
              rules.addOrder({{Phase::InputGradient, chunk, 0},
                              {Phase::InputGradient, chunk, 1}});
            }),
            "schedule 'given' has a rule for I0 of chunk 0, expected a task of "
            "stage 0");
}

TEST(BuildScheduleTest, TakesTimeLinearInTasks) {
  // The time of processors, of which a busy machine needs little more.
  auto measure = [](llvm::StringRef name, int64_t chunks,
                    int64_t microBatches) {
    std::clock_t best = std::numeric_limits<std::clock_t>::max();
    for (int run = 0; run < 3; ++run) {
      const std::clock_t start = std::clock();
      build(name, 16, chunks, microBatches);
      best = std::min(best, std::clock() - start);
    }
    return best;
  };
  auto expectLinear = [&](llvm::StringRef name, int64_t chunks,
                          int64_t microBatches) {
    const std::clock_t few = measure(name, chunks, microBatches);
    // Squares of the numbers of tasks would take 256 times as long.
    EXPECT_LT(measure(name, chunks, 16 * microBatches), 64 * (few + 1))
        << name.str();
  };
  for (const char *name : {"interleaved", "zero-bubble-v"})
    expectLinear(name, 2, 32);
  for (const char *name : {"1f1b", "gpipe", "zero-bubble-h1"})
    expectLinear(name, 1, 64);
}

} // namespace
