//===- PipelineModelTest.cpp - Schedules in time --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/EventEngine/PipelineModel.h"
#include "mf/Pipeline/Policy.h"
#include "llvm/ADT/STLExtras.h"
#include "gmock/gmock.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>
#include <tuple>

using namespace mf::events;
using namespace mf::schedule;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

Schedule build(llvm::StringRef name, int64_t stages, int64_t chunks,
               int64_t microBatches) {
  llvm::Expected<const Policy *> policy = findPolicy(name);
  EXPECT_TRUE(static_cast<bool>(policy));
  llvm::Expected<Schedule> schedule =
      buildSchedule(**policy, (*policy)->place(stages, chunks, microBatches));
  EXPECT_TRUE(static_cast<bool>(schedule))
      << llvm::toString(schedule.takeError());
  return std::move(*schedule);
}

PipelineCosts makeEvenCosts(const Schedule &schedule) {
  PipelineCosts costs;
  costs.forward.assign(schedule.pipeline.getNumChunks(), 1);
  costs.activationMemory = costs.forward;
  return costs;
}

PipelineTimeline run(const Schedule &schedule, const PipelineCosts &costs) {
  llvm::Expected<PipelineTimeline> timeline = simulatePipeline(schedule, costs);
  EXPECT_TRUE(static_cast<bool>(timeline))
      << llvm::toString(timeline.takeError());
  return timeline ? std::move(*timeline) : PipelineTimeline();
}

std::string getError(const Schedule &schedule, const PipelineCosts &costs) {
  llvm::Expected<PipelineTimeline> timeline = simulatePipeline(schedule, costs);
  return timeline ? "" : llvm::toString(timeline.takeError());
}

/// Chunks per stage that a policy takes.
int64_t getChunks(llvm::StringRef name) {
  if (name.contains("interleaved"))
    return 3;
  if (name.starts_with("recompute-"))
    return 2;
  const Policy *policy = llvm::cantFail(findPolicy(name));
  // A V brings the second chunk to the stage of the first.
  return policy->getStage(1, 1) == 0 && policy->getStage(3, 2) == 0 ? 2 : 1;
}

PipelineCosts makeRandomCosts(const Schedule &schedule, std::mt19937 &random) {
  std::uniform_real_distribution<double> time(0.5, 3);
  PipelineCosts costs;
  for (int64_t chunk = 0; chunk < schedule.pipeline.getNumChunks(); ++chunk) {
    costs.forward.push_back(time(random));
    costs.recompute.push_back(time(random) / 4);
    costs.activationMemory.push_back(time(random));
  }
  costs.backwardRatio = time(random);
  costs.inputGradientShare = time(random) / 3;
  return costs;
}

using Key = std::tuple<Phase, int32_t, int32_t>;

/// The tasks that a task reads, by the definition of a pipeline.
std::vector<Key> getInputs(const Schedule &schedule, const Task &task) {
  Phase gradient =
      schedule.splitsBackward ? Phase::InputGradient : Phase::Backward;
  switch (task.phase) {
  case Phase::Forward:
    if (task.chunk == 0)
      return {};
    return {{Phase::Forward, task.chunk - 1, task.microBatch}};
  case Phase::Backward:
  case Phase::InputGradient:
    if (task.chunk == schedule.pipeline.getNumChunks() - 1)
      return {{Phase::Forward, task.chunk, task.microBatch}};
    return {{Phase::Forward, task.chunk, task.microBatch},
            {gradient, task.chunk + 1, task.microBatch}};
  case Phase::WeightGradient:
    return {{gradient, task.chunk, task.microBatch}};
  case Phase::Recompute:
    return {{Phase::Forward, task.chunk, task.microBatch}};
  }
  return {};
}

/// The end of the last input from elsewhere that the slot of the task at
/// `begin`, its first one, waits for.
double getInputEnd(const Schedule &schedule, int64_t stage, int64_t begin,
                   const std::map<Key, double> &ends, double latency) {
  std::set<Key> own;
  double last = 0;
  for (int64_t position = begin; position < schedule.getSlotEnd(stage, begin);
       ++position) {
    const Task &task = schedule.stages[stage][position];
    for (const Key &input : getInputs(schedule, task)) {
      if (own.count(input))
        continue;
      const bool crosses =
          schedule.pipeline.stageOfChunk[std::get<1>(input)] != stage;
      last = std::max(last, ends.at(input) + (crosses ? latency : 0));
    }
    own.insert({task.phase, task.chunk, task.microBatch});
  }
  return last;
}

/// No two slots of a stage overlap, no task starts before its inputs are there,
/// every slot starts as soon as it can, its tasks start and end together, and
/// the end is no earlier than the longest path and the busiest stage.
void expectValid(const Schedule &schedule, const PipelineTimeline &timeline,
                 double latency) {
  std::map<Key, double> ends;
  for (const std::vector<Block> &stage : timeline.stages)
    for (const Block &block : stage)
      ends[{block.task.phase, block.task.chunk, block.task.microBatch}] =
          block.end;
  double pathOfOne = 0;
  for (const auto &[index, stage] : llvm::enumerate(timeline.stages)) {
    ASSERT_EQ(stage.size(), schedule.stages[index].size());
    const auto number = static_cast<int64_t>(index);
    double free = 0, busy = 0;
    for (const auto &[position, block] : llvm::enumerate(stage)) {
      if (block.task.microBatch == 0 &&
          block.task.phase != Phase::WeightGradient)
        pathOfOne += block.end - block.start;
      const int64_t begin = schedule.getSlotBegin(number, position);
      if (begin != static_cast<int64_t>(position)) {
        EXPECT_EQ(block.start, stage[begin].start);
        EXPECT_EQ(block.end, stage[begin].end);
        continue;
      }
      const double inputs = getInputEnd(schedule, number, begin, ends, latency);
      EXPECT_GE(block.start, inputs - 1e-9);
      EXPECT_GE(block.start, free);
      if (latency == 0)
        EXPECT_NEAR(block.start, std::max(free, inputs), 1e-9);
      free = block.end;
      busy += block.end - block.start;
    }
    EXPECT_GE(timeline.end, busy - 1e-9);
    EXPECT_EQ(timeline.stageEnds[index], free);
  }
  EXPECT_GE(timeline.end, pathOfOne - 1e-9);
}

TEST(PipelineModelTest, SchedulesRunAsTheyMust) {
  std::mt19937 random(3);
  for (const Policy *policy : getPolicies()) {
    llvm::StringRef name = policy->getName();
    SCOPED_TRACE(name.str());
    for (int64_t stages : {1, 2, 3, 4, 7})
      for (int64_t microBatches : {2 * stages, 2 * stages + 1, 3 * stages}) {
        if (name == "recompute-in-bubble" && microBatches % stages != 0)
          continue;
        Schedule schedule = build(name, stages, getChunks(name), microBatches);
        PipelineCosts costs = makeRandomCosts(schedule, random);
        expectValid(schedule, run(schedule, costs), 0);
        costs.transfers = TransferMode::Overlapped;
        costs.transferTime = 0.3;
        expectValid(schedule, run(schedule, costs), 0.3);
      }
  }
}

TEST(PipelineModelTest, UnitTimesAndFlightsAreTheSchedules) {
  for (const Policy *policy : getPolicies()) {
    llvm::StringRef name = policy->getName();
    Schedule schedule = build(name, 4, getChunks(name), 8);
    PipelineTimeline timeline = run(schedule, makeEvenCosts(schedule));
    auto starts = schedule.getUnitStarts();
    for (auto [stage, blocks] : llvm::enumerate(timeline.stages)) {
      EXPECT_EQ(timeline.peakMemory[stage], schedule.getMaxInFlight(stage));
      for (auto [index, block] : llvm::enumerate(blocks))
        EXPECT_EQ(
            block.start,
            starts[stage][schedule.getSlotBegin(static_cast<int64_t>(stage),
                                                static_cast<int64_t>(index))]);
    }
  }
}

TEST(PipelineModelTest, SplitBackwardTakesAsLongAsWhole) {
  Schedule schedule = build("zero-bubble-h1", 1, 1, 3);
  PipelineCosts costs = makeEvenCosts(schedule);
  costs.inputGradientShare = 0.25;
  costs.recompute = {1};
  PipelineTimeline timeline = run(schedule, costs);
  EXPECT_EQ(timeline.end, 3 * (1 + 2 + 1));
  for (const Block &block : timeline.stages[0]) {
    if (block.task.phase == Phase::InputGradient)
      EXPECT_EQ(block.end - block.start, 0.5 + 1);
    if (block.task.phase == Phase::WeightGradient)
      EXPECT_EQ(block.end - block.start, 1.5);
  }
}

TEST(PipelineModelTest, BackwardsOfChunksTakeTheirOwnShares) {
  Schedule schedule = build("zero-bubble-h1", 2, 1, 1);
  PipelineCosts costs = makeEvenCosts(schedule);
  costs.backward = {3, 4};
  costs.weightGradient = {2, 0};
  PipelineTimeline timeline = run(schedule, costs);
  EXPECT_THAT(timeline.stageEnds, ElementsAre(1 + 1 + 4 + 3, 1 + 1 + 4));
  EXPECT_EQ(timeline.bubbles.real, (2 * 9.0 - 9) / 9);
  costs.backward.clear();
  costs.weightGradient = {1, 2.5};
  EXPECT_EQ(getError(schedule, costs), "the weight gradient of chunk 1 takes "
                                       "2.50, expected at most the 2.00 of "
                                       "its backward");
}

TEST(PipelineModelTest, DeadlockNamesTasks) {
  Schedule schedule = build("interleaved-low-memory", 2, 2, 4);
  PipelineCosts costs = makeEvenCosts(schedule);
  costs.transfers = TransferMode::Blocking;
  EXPECT_EQ(getError(schedule, costs),
            "deadlock: the receive before B2.0 on stage 0 waits for the send "
            "after B3.0 on stage 1, the receive before F3.1 on stage 1 waits "
            "for the send after F2.1 on stage 0");
}

TEST(PipelineModelTest, CostsThatDoNotFit) {
  Schedule schedule = build("1f1b", 2, 1, 4);
  PipelineCosts good = makeEvenCosts(schedule);
  PipelineCosts costs = good;
  costs.forward = {1};
  EXPECT_EQ(getError(schedule, costs), "there are 1 numbers for the forward "
                                       "time of 2 chunks, expected one for "
                                       "each");
  costs = good;
  costs.parameterMemory = {1, -2};
  EXPECT_EQ(getError(schedule, costs), "the parameter memory is -2.00, "
                                       "expected a finite number from 0");
  costs = good;
  costs.backwardRatio = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(getError(schedule, costs), HasSubstr("backward ratio is nan"));
  costs = good;
  costs.inputGradientShare = 1.5;
  EXPECT_EQ(getError(schedule, costs), "the share of the input gradient is "
                                       "1.50, expected a number from 0 to 1");
}

} // namespace
