//===- FaultScheduleTest.cpp - Steps in orders and with faults of a seed --===//
// SPDX-License-Identifier: Apache-2.0

#include "FaultCounts.h"
#include "TwoByTwo.h"
#include "test/unit/Campaign.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

using namespace mf;
using namespace mf::program;
using namespace mf::ranks;
using namespace mf::runner;

namespace {

/// One step of twoByTwo in the order of a schedule.
struct FaultyRun {
  FaultyRun(const Program &program, std::shared_ptr<FaultSchedule> schedule)
      : schedule(std::move(schedule)) {
    RunnerOptions options;
    options.threads = 1;
    options.turns = this->schedule;
    auto created = Runner::create(program, options);
    if (!created) {
      error = llvm::toString(created.takeError());
      return;
    }
    setUp(**created);
    error = llvm::toString((*created)->runStep({}).takeError());
    if (error.empty())
      results = getResults(**created);
  }

  static std::vector<float> getResults(Runner &runner) {
    std::vector<float> results;
    for (int64_t rank : runner.getLocalRanks())
      for (uint32_t number = 0;
           number < runner.getProgram().getStageOf(rank).statics.size();
           ++number)
        llvm::append_range(results, getFloats(runner, rank, number));
    return results;
  }

  std::shared_ptr<FaultSchedule> schedule;
  std::string error;
  /// The values of all ranks, where the step came to its end.
  std::vector<float> results;
};

std::vector<float> runWithoutSeed(const Program &program) {
  std::unique_ptr<Runner> runner = makeRunner(program);
  setUp(*runner);
  EXPECT_EQ(llvm::toString(runner->runStep({}).takeError()), "");
  expectResults(*runner);
  return FaultyRun::getResults(*runner);
}

TEST(FaultScheduleTest, RepeatsARunExactly) {
  ParsedProgram parsed(twoByTwo);
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  std::set<uint64_t> traces;
  constexpr uint64_t count = 50;
  for (uint64_t seed = 0; seed < count; ++seed) {
    const FaultyRun one(parsed.get(), std::make_shared<FaultSchedule>(seed));
    const FaultyRun two(parsed.get(), std::make_shared<FaultSchedule>(seed));
    EXPECT_EQ(one.schedule->describe(), two.schedule->describe());
    EXPECT_EQ(one.error, two.error);
    EXPECT_EQ(one.results, two.results);
    traces.insert(one.schedule->getTrace());
  }
  // All but runs that get no memory have an order of their own.
  EXPECT_GT(traces.size(), count / 2);
}

/// Each run has the bits of a run without a seed or the error of a fault.
TEST(FaultScheduleTest, GivesTheSameBitsOrAnError) {
  ParsedProgram parsed(twoByTwo);
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  const std::vector<float> expected = runWithoutSeed(parsed.get());
  FaultCounts counts;
  const uint64_t first = getCampaignSeed(1), runs = getCampaignCount(8000);
  for (uint64_t seed = first; seed < first + runs; ++seed) {
    const FaultyRun run(parsed.get(), std::make_shared<FaultSchedule>(seed));
    EXPECT_TRUE(counts.add(*run.schedule, run.error, run.results == expected))
        << run.schedule->describe() << ": " << run.error;
  }
  counts.print("schedules", first);
}

TEST(FaultScheduleTest, SaysWhichStreamFroze) {
  ParsedProgram parsed(twoByTwo);
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  bool hasFrozen = false;
  for (uint64_t seed = 0; seed < 20 && !hasFrozen; ++seed) {
    const FaultyRun run(
        parsed.get(), std::make_shared<FaultSchedule>(seed, FaultKind::Freeze));
    hasFrozen = run.schedule->getFaults().front().injected;
    if (hasFrozen)
      EXPECT_THAT(run.error, ::testing::ContainsRegex(
                                 "no stream can go on: .*rank [0-3] stream "
                                 "[a-z0-9]+ does not answer"));
  }
  EXPECT_TRUE(hasFrozen);
}

} // namespace
