//===- RunnerTest.cpp - Execution of programs on emulated devices ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "RunnerTesting.h"
#include "mf/Program/LocatedError.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mf;
using namespace mf::program;
using namespace mf::ranks;
using namespace mf::runner;
using ::testing::ElementsAre;

namespace {

const std::string header = makeHeader(1, 4, 4096, 256);

/// w += lr * (w + w), with lr from the host, and w's first value to the host.
const std::string oneRank = "ascend.program @stage0 stage 0" + header + R"(
ascend.stream @compute compute
ascend.stream @h2d h2d
ascend.stream @d2h d2h
ascend.static @w parameter of "w" : !ascend.buffer<4xf32, hbm> at 0
ascend.static @lr learning_rate : !ascend.buffer<f32, host> at 0
ascend.static @loss report of "loss" : !ascend.buffer<2xf32, host> at 64
ascend.routine @twice(%lr: !ascend.buffer<f32, hbm>, %out: !ascend.buffer<4xf32, hbm>) {
  %w = ascend.global @w : !ascend.buffer<4xf32, hbm>
  %t = ascend.alloc in scratch at 0 : !ascend.buffer<4xf32, hbm>
  ascend.launch "aclnnAdd"(%w, %w) -> (%t) {} cell "twice" : (!ascend.buffer<4xf32, hbm>, !ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
  ascend.launch "aclnnMuls"(%t) -> (%out) {value = 0.5 : f64} cell "half" : (!ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
}
ascend.routine @last(%d: !ascend.buffer<4xf32, hbm>) attributes {updates_parameters} {
  %w = ascend.global @w : !ascend.buffer<4xf32, hbm>
  ascend.launch "aclnnAdd"(%w, %d) -> (%w) {} cell "update" : (!ascend.buffer<4xf32, hbm>, !ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
}
ascend.step {
  %hostlr = ascend.global @lr : !ascend.buffer<f32, host>
  %loss = ascend.global @loss : !ascend.buffer<2xf32, host>
  %lr = ascend.message at 64 : !ascend.buffer<f32, hbm>
  %d = ascend.message at 128 : !ascend.buffer<4xf32, hbm>
  ascend.copy %hostlr to %lr on @h2d : !ascend.buffer<f32, host> to !ascend.buffer<f32, hbm>
  %loaded = ascend.record @h2d
  ascend.wait @compute for %loaded
  ascend.call @twice(%lr, %d) scratch at 1024 : (!ascend.buffer<f32, hbm>, !ascend.buffer<4xf32, hbm>) -> ()
  ascend.call @last(%d) : (!ascend.buffer<4xf32, hbm>) -> ()
  %done = ascend.record @compute
  ascend.wait @d2h for %done
  %part = ascend.view %d : !ascend.buffer<4xf32, hbm> to !ascend.buffer<2xf32, hbm>
  ascend.copy %part to %loss on @d2h : !ascend.buffer<2xf32, hbm> to !ascend.buffer<2xf32, host>
}
})";

TEST(RunnerTest, RunsOneRank) {
  ParsedProgram parsed(oneRank);
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  std::unique_ptr<Runner> runner = makeRunner(parsed.get());
  ASSERT_TRUE(runner);
  setFloats(*runner, 0, 0, {1, 2, 3, 4});
  StepInput input;
  input.learningRates = {0.25};
  llvm::Expected<StepOutput> output = runner->runStep(input);
  ASSERT_TRUE(static_cast<bool>(output));
  EXPECT_THAT(getFloats(*runner, 0, 0), ElementsAre(2, 4, 6, 8));
  EXPECT_THAT(getFloats(*runner, 0, 1), ElementsAre(0.25));
  EXPECT_EQ(output->loss, 1.5f);
  EXPECT_FALSE(output->globalNorm);
}

TEST(RunnerTest, StopsBeforeTheUpdate) {
  ParsedProgram parsed(oneRank);
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  EXPECT_EQ(findUpdate(parsed.get().stages[0]), 4u);
  std::unique_ptr<Runner> runner = makeRunner(parsed.get());
  ASSERT_TRUE(runner);
  setFloats(*runner, 0, 0, {1, 2, 3, 4});
  bool called = false;
  llvm::Expected<StepOutput> output = runner->runStep({}, [&] {
    called = true;
    EXPECT_THAT(getFloats(*runner, 0, 0), ElementsAre(1, 2, 3, 4));
    return llvm::Error::success();
  });
  ASSERT_TRUE(static_cast<bool>(output));
  EXPECT_TRUE(called);
  EXPECT_THAT(getFloats(*runner, 0, 0), ElementsAre(2, 4, 6, 8));
  EXPECT_EQ(output->loss, 1.5f);
}

TEST(RunnerTest, RecordsWhenInstructionsRan) {
  ParsedProgram parsed(oneRank);
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  std::unique_ptr<Runner> runner = makeRunner(parsed.get());
  ASSERT_TRUE(runner);
  ASSERT_EQ(llvm::toString(runner->runStep({}).takeError()), "");
  const auto begin = std::chrono::steady_clock::now();
  runner->recordNextStep({0});
  ASSERT_EQ(llvm::toString(runner->runStep({}).takeError()), "");
  const std::vector<RankRecord> record = runner->takeRecord();
  const auto end = std::chrono::steady_clock::now();

  ASSERT_EQ(record.size(), 1u);
  EXPECT_EQ(record[0].rank, 0);
  // By stream: the position in the step, and the number in the routine.
  using Place = std::pair<uint32_t, std::optional<uint32_t>>;
  std::vector<std::vector<Place>> places;
  for (const std::vector<RecordedWork> &works : record[0].streams) {
    places.emplace_back();
    auto last = begin;
    for (const RecordedWork &work : works) {
      places.back().emplace_back(work.position, work.instruction);
      EXPECT_LE(last, work.times.start);
      EXPECT_LE(work.times.start, work.times.end);
      last = work.times.end;
    }
    EXPECT_LE(last, end);
  }
  EXPECT_THAT(places,
              ElementsAre(ElementsAre(Place(3, 0), Place(3, 1), Place(4, 0)),
                          ElementsAre(Place(0, std::nullopt)),
                          ElementsAre(Place(7, std::nullopt))));
  const auto &streams = record[0].streams;
  EXPECT_LE(streams[1][0].times.end, streams[0][0].times.start);
  EXPECT_LE(streams[0][2].times.end, streams[2][0].times.start);

  // Only what was asked for is recorded.
  ASSERT_EQ(llvm::toString(runner->runStep({}).takeError()), "");
  EXPECT_TRUE(runner->takeRecord().empty());
}

TEST(RunnerTest, DebugsMemory) {
  ParsedProgram parsed(oneRank);
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  RunnerOptions options;
  options.debugMemory = true;
  std::unique_ptr<Runner> runner = makeRunner(parsed.get(), options);
  ASSERT_TRUE(runner);
  setFloats(*runner, 0, 0, {1, 2, 3, 4});
  for (int step = 0; step < 3; ++step)
    ASSERT_TRUE(static_cast<bool>(runner->runStep({})));
  EXPECT_THAT(getFloats(*runner, 0, 0), ElementsAre(8, 16, 24, 32));
  EXPECT_EQ(runner->getTouchedBytes(0, Space::Device), 1024 + 16);
  EXPECT_EQ(runner->getTouchedBytes(0, Space::Host), 64 + 8);
  EXPECT_FALSE(static_cast<bool>(runner->checkMemory()));
}

/// Rank 0 sends w to rank 1, which sends back the double; then both sum it.
const std::string twoRanks = "ascend.program @stage0 stage 0" + header +
                             R"(
ascend.stream @compute compute
ascend.stream @forward communication
ascend.stream @backward communication
ascend.stream @sum communication
ascend.static @w parameter of "w" : !ascend.buffer<4xf32, hbm> at 0
ascend.static @g gradient of "w" : !ascend.buffer<4xf32, hbm> at 64
ascend.step {
  %w = ascend.global @w : !ascend.buffer<4xf32, hbm>
  %g = ascend.global @g : !ascend.buffer<4xf32, hbm>
  ascend.send %w to <pp = 1> channel "forward" on @forward : !ascend.buffer<4xf32, hbm>
  %e = ascend.receive %g from <pp = 1> channel "backward" on @backward : !ascend.buffer<4xf32, hbm> -> !ascend.event
  ascend.collective all_reduce %g to %g over <pp stages [1, 0]> channel "sum" on @sum after %e : !ascend.buffer<4xf32, hbm> to !ascend.buffer<4xf32, hbm>
}
}
ascend.program @stage1 stage 1)" +
                             header +
                             R"(
ascend.stream @compute compute
ascend.stream @link communication
ascend.static @g gradient of "w" : !ascend.buffer<4xf32, hbm> at 0
ascend.step {
  %m = ascend.message at 64 : !ascend.buffer<4xf32, hbm>
  %g = ascend.global @g : !ascend.buffer<4xf32, hbm>
  ascend.receive %m from <pp = 0> channel "forward" on @link : !ascend.buffer<4xf32, hbm>
  %e = ascend.record @link
  ascend.wait @compute for %e
  ascend.launch "aclnnAdd"(%m, %m) -> (%g) {} : (!ascend.buffer<4xf32, hbm>, !ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
  %d = ascend.record @compute
  ascend.wait @link for %d
  ascend.send %g to <pp = 0> channel "backward" on @link : !ascend.buffer<4xf32, hbm>
  ascend.collective all_reduce %g to %g over <pp stages [1, 0]> channel "sum" on @link : !ascend.buffer<4xf32, hbm> to !ascend.buffer<4xf32, hbm>
}
})";

TEST(RunnerTest, ExchangesMessages) {
  ParsedProgram parsed(twoRanks);
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  for (int threads : {1, 2, 5}) {
    RunnerOptions options;
    options.threads = threads;
    std::unique_ptr<Runner> runner = makeRunner(parsed.get(), options);
    ASSERT_TRUE(runner);
    for (float step : {1.0F, 10.0F, 100.0F}) {
      setFloats(*runner, 0, 0, {step, 2 * step, 3, 4});
      ASSERT_TRUE(static_cast<bool>(runner->runStep({})));
      EXPECT_THAT(getFloats(*runner, 0, 1),
                  ElementsAre(4 * step, 8 * step, 12, 16));
      EXPECT_THAT(getFloats(*runner, 1, 0),
                  ElementsAre(4 * step, 8 * step, 12, 16));
    }
  }
}

TEST(RunnerTest, StopsAllRanksWhenOneFails) {
  ParsedProgram parsed(twoRanks);
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  Program program = parsed.get();
  // A message of another size than what is expected, which decoding refuses.
  InstructionList &step = program.stages[1].step;
  for (Instruction &instruction : step.instructions)
    if (const Exchange *exchange = step.getExchange(instruction))
      if (exchange->isSend)
        instruction.accesses[0].operand.bytes = 8;
  std::unique_ptr<Runner> runner = makeRunner(program);
  ASSERT_TRUE(runner);
  llvm::Expected<StepOutput> output = runner->runStep({});
  ASSERT_FALSE(static_cast<bool>(output));
  EXPECT_EQ(llvm::toString(output.takeError()),
            "rank 0 (stage 0): stream 'backward': channel 'backward': expected "
            "16 bytes, "
            "but got 8");
  // And no later step runs.
  output = runner->runStep({});
  ASSERT_FALSE(static_cast<bool>(output));
  llvm::consumeError(output.takeError());
}

TEST(RunnerTest, RefusesTokensThatDoNotFit) {
  std::string text = oneRank;
  const llvm::StringRef rate = "@lr learning_rate : !ascend.buffer<f32, host>";
  text.replace(text.find(rate.str()), rate.size(),
               "@tokens tokens : !ascend.buffer<1x4xi32, host> at 128\n"
               "ascend.static @lr learning_rate : !ascend.buffer<f32, host>");
  ParsedProgram parsed(text);
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  std::unique_ptr<Runner> runner = makeRunner(parsed.get());
  ASSERT_TRUE(runner);
  std::vector<int32_t> tokens = {1, 2, 3, 4, 5};
  for (size_t count : {3, 5}) {
    StepInput input;
    input.tokens = llvm::ArrayRef(tokens).take_front(count);
    llvm::Expected<StepOutput> output = runner->runStep(input);
    ASSERT_FALSE(static_cast<bool>(output));
    EXPECT_TRUE(output.errorIsA<LocatedError>());
    llvm::consumeError(output.takeError());
  }
  StepInput input;
  input.tokens = llvm::ArrayRef(tokens).take_front(4);
  ASSERT_TRUE(static_cast<bool>(runner->runStep(input)));
  llvm::MutableArrayRef<uint8_t> bytes = runner->getStatic(0, 1);
  EXPECT_EQ(std::memcmp(bytes.data(), tokens.data(), 16), 0);
}

TEST(RunnerTest, LocatesKernelsThatCannotBeMade) {
  std::string text = oneRank;
  const std::string launch = R"("aclnnMuls"(%t) -> (%out) {value = 0.5 : f64})";
  text.replace(text.find(launch), launch.size(),
               R"("aclnnSwiGlu"(%t) -> (%out) {})");
  ParsedProgram parsed(text);
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  auto runner = Runner::create(parsed.get(), {});
  ASSERT_FALSE(static_cast<bool>(runner));
  llvm::handleAllErrors(runner.takeError(), [&](const LocatedError &error) {
    EXPECT_EQ(parsed.getLine(error.getLocation()), 13u);
    EXPECT_THAT(error.getMessage(), ::testing::HasSubstr("expected 2xf32"));
  });
}

TEST(RunnerTest, StopsAtTheEndWhereNothingIsUpdated) {
  std::string text = oneRank;
  const llvm::StringRef mark = " attributes {updates_parameters}";
  text.erase(text.find(mark.str()), mark.size());
  ParsedProgram parsed(text);
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  EXPECT_FALSE(findUpdate(parsed.get().stages[0]));
  std::unique_ptr<Runner> runner = makeRunner(parsed.get());
  ASSERT_TRUE(runner);
  setFloats(*runner, 0, 0, {1, 2, 3, 4});
  bool called = false;
  llvm::Expected<StepOutput> output = runner->runStep({}, [&] {
    called = true;
    EXPECT_THAT(getFloats(*runner, 0, 0), ElementsAre(2, 4, 6, 8));
    return llvm::Error::success();
  });
  ASSERT_TRUE(static_cast<bool>(output));
  EXPECT_TRUE(called);
}

TEST(RunnerTest, MeasuresStreams) {
  ParsedProgram parsed(oneRank);
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  std::unique_ptr<Runner> runner = makeRunner(parsed.get());
  ASSERT_TRUE(runner);
  ASSERT_TRUE(static_cast<bool>(runner->runStep({})));
  std::vector<StreamUse> uses = runner->getStreamUse(0);
  ASSERT_EQ(uses.size(), 3u);
  EXPECT_EQ(uses[1].name, "h2d");
  EXPECT_EQ(uses[1].statistics.copies, 1);
  EXPECT_EQ(uses[1].statistics.copiedBytes, 4);
}

} // namespace
