//===- RanksTest.cpp - Several ranks of a stage ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "TwoByTwo.h"
#include "mf/Program/Verifier.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

using namespace mf;
using namespace mf::program;
using namespace mf::ranks;
using namespace mf::runner;
using ::testing::ElementsAre;

namespace {

TEST(RanksTest, GathersInTheMiddleOfALayer) {
  for (int threads : {1, 3, 8})
    for (bool debugMemory : {false, true}) {
      RunnerOptions options;
      options.threads = threads;
      options.debugMemory = debugMemory;
      RunningProgram four(twoByTwo, options);
      EXPECT_EQ(llvm::toString(
                    prove(four.parsed.get(), {/*ranks=*/false}).takeError()),
                "");
      EXPECT_THAT(four.runner->getLocalRanks(), ElementsAre(0, 1, 2, 3));
      setUp(*four.runner);
      for (int step = 0; step < 3; ++step) {
        const StepOutput output = four.runStep();
        expectResults(*four.runner);
        // The mean over both ranks; rank 3 alone has an overflow.
        EXPECT_EQ(output.loss, (82.0F + 340 + 750 + 4488) / 4);
        EXPECT_TRUE(output.overflow);
        EXPECT_FALSE(output.globalNorm);
      }
      EXPECT_EQ(llvm::toString(four.runner->checkMemory()), "");
    }
}

TEST(RanksTest, LivesInSeveralRunners) {
  ParsedProgram parsed(twoByTwo);
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  RunnerOptions options;
  options.communicator =
      makeLocalCommunicator(parsed.get().mesh, parsed.get().channels);
  options.localRanks = {0, 3};
  std::unique_ptr<Runner> outer = makeRunner(parsed.get(), options);
  options.localRanks = {1, 2};
  std::unique_ptr<Runner> inner = makeRunner(parsed.get(), options);
  ASSERT_TRUE(outer && inner);
  setUp(*outer);
  setUp(*inner);
  std::thread other([&] {
    llvm::Expected<StepOutput> output = inner->runStep({});
    ASSERT_TRUE(static_cast<bool>(output));
    EXPECT_EQ(output->loss, (82.0F + 340) / 2);
    EXPECT_FALSE(output->overflow);
  });
  llvm::Expected<StepOutput> output = outer->runStep({});
  other.join();
  ASSERT_TRUE(static_cast<bool>(output));
  EXPECT_TRUE(output->overflow);
  expectResults(*outer);
  expectResults(*inner);
}

TEST(RanksTest, RefusesRanksThatCannotLiveHere) {
  ParsedProgram parsed(twoByTwo);
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  auto getError = [&](std::vector<int64_t> ranks) {
    RunnerOptions options;
    options.localRanks = std::move(ranks);
    return llvm::toString(Runner::create(parsed.get(), options).takeError());
  };
  EXPECT_EQ(getError({0, 1}), "the program has 4 ranks and 2 live here; a "
                              "communicator must reach the others");
  EXPECT_EQ(getError({0, 4}), "expected ranks from 0 to 3 in ascending order, "
                              "but got 4");
  EXPECT_EQ(getError({1, 1}), "expected ranks from 0 to 3 in ascending order, "
                              "but got 1");
}

TEST(RanksTest, NamesTheRankThatFails) {
  ParsedProgram parsed(twoByTwo);
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  Program program = parsed.get();
  // Stage 1 expects less than stage 0 sends, which decoding refuses.
  InstructionList &step = program.stages[1].step;
  for (Instruction &instruction : step.instructions)
    if (const Exchange *exchange = step.getExchange(instruction))
      if (program.channels[exchange->channel].name == "hidden")
        instruction.accesses[0].operand.bytes = 8;
  std::unique_ptr<Runner> runner = makeRunner(program);
  ASSERT_TRUE(runner);
  llvm::Expected<StepOutput> output = runner->runStep({});
  ASSERT_FALSE(static_cast<bool>(output));
  EXPECT_THAT(llvm::toString(output.takeError()),
              ::testing::MatchesRegex("rank [23] \\(stage 1\\): stream 'pp': "
                                      "channel 'hidden': expected 8 bytes, but "
                                      "got 16"));
  // And no later step runs.
  output = runner->runStep({});
  ASSERT_FALSE(static_cast<bool>(output));
  llvm::consumeError(output.takeError());
}

TEST(RanksTest, GivesEachRankItsRowsOfTheBatch) {
  std::string text =
      "module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2, mp = 2>} {\n"
      "ascend.program @stage0 stage 0" +
      twoByTwoHeader +
      "ascend.stream @compute compute\n"
      "ascend.static @tokens tokens : !ascend.buffer<2x2x2xi32, host> slice "
      "<[2, 4, 2] over [[], [dp], []]> at 0\n"
      "ascend.static @labels labels : !ascend.buffer<2x4x2xi32, host> at 64\n"
      "ascend.step {}\n}\n}";
  RunningProgram four(text);
  Runner *runner = four.runner.get();
  std::vector<int32_t> tokens(16);
  for (int32_t i = 0; i < 16; ++i)
    tokens[i] = i;
  StepInput input;
  input.tokens = tokens;
  input.labels = tokens;
  ASSERT_TRUE(static_cast<bool>(runner->runStep(input)));
  for (int64_t rank = 0; rank < 4; ++rank) {
    int32_t rows[8];
    std::memcpy(rows, runner->getStatic(rank, 0).data(), sizeof(rows));
    if (rank < 2)
      EXPECT_THAT(rows, ElementsAre(0, 1, 2, 3, 8, 9, 10, 11));
    else
      EXPECT_THAT(rows, ElementsAre(4, 5, 6, 7, 12, 13, 14, 15));
    EXPECT_EQ(std::memcmp(runner->getStatic(rank, 1).data(), tokens.data(), 64),
              0);
  }
  input.tokens = llvm::ArrayRef(tokens).take_front(8);
  llvm::Expected<StepOutput> output = runner->runStep(input);
  ASSERT_FALSE(static_cast<bool>(output));
  EXPECT_EQ(llvm::toString(output.takeError()),
            "expected no more than 8 tokens in a step");
}

} // namespace
