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
  ParsedProgram parsed(twoByTwo);
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  EXPECT_EQ(llvm::toString(prove(parsed.get(), {/*ranks=*/false}).takeError()),
            "");
  for (int threads : {1, 3, 8})
    for (bool debugMemory : {false, true}) {
      RunnerOptions options;
      options.threads = threads;
      options.debugMemory = debugMemory;
      std::unique_ptr<Runner> runner = makeRunner(parsed.get(), options);
      ASSERT_TRUE(runner);
      EXPECT_THAT(runner->getLocalRanks(), ElementsAre(0, 1, 2, 3));
      setUp(*runner);
      for (int step = 0; step < 3; ++step) {
        llvm::Expected<StepOutput> output = runner->runStep({});
        ASSERT_TRUE(static_cast<bool>(output));
        expectResults(*runner);
        // The mean over both ranks; rank 3 alone has an overflow.
        EXPECT_EQ(output->loss, (82.0F + 340 + 750 + 4488) / 4);
        EXPECT_TRUE(output->overflow);
        EXPECT_FALSE(output->globalNorm);
      }
      EXPECT_EQ(llvm::toString(runner->checkMemory()), "");
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
}

/// The step of one stage of many: each rank gathers what its stage holds, adds
/// what the stage before has, and sends that on.
std::string makeStage(int64_t stage, int64_t stages, int64_t ranks) {
  const std::string type =
      "!ascend.buffer<" + std::to_string(ranks) + "xf32, hbm>";
  std::string text =
      "ascend.program @stage" + std::to_string(stage) + " stage " +
      std::to_string(stage) + twoByTwoHeader + R"(
ascend.stream @compute compute
ascend.stream @group communication
ascend.stream @in communication
ascend.stream @out communication
ascend.static @w parameter of "w)" +
      std::to_string(stage) + R"(" : !ascend.buffer<1xf32, hbm> slice <[)" +
      std::to_string(ranks) +
      "] over [[dp, mp]]> at 0\nascend.static @sum table : " + type +
      " at 128\nascend.step {\n"
      "%w = ascend.global @w : !ascend.buffer<1xf32, hbm>\n"
      "%sum = ascend.global @sum : " +
      type + "\n%x = ascend.message at 512 : " + type + "\n";
  text += "%gathered = ascend.collective all_gather %w to %sum over <dp, mp> "
          "channel \"group\" on @group : !ascend.buffer<1xf32, hbm> to " +
          type + " -> !ascend.event\nascend.wait @compute for %gathered\n";
  if (stage > 0)
    text += "%came = ascend.receive %x from <pp - 1> channel \"to" +
            std::to_string(stage) + "\" on @in : " + type +
            " -> !ascend.event\nascend.wait @compute for %came\n"
            "ascend.launch \"aclnnAdd\"(%sum, %x) -> (%sum) {} : (" +
            type + ", " + type + ") -> " + type + "\n";
  if (stage + 1 < stages)
    text += "%done = ascend.record @compute\nascend.send %sum to <pp + 1> "
            "channel \"to" +
            std::to_string(stage + 1) + "\" on @out after %done : " + type +
            "\n";
  return text + "}\n}\n";
}

TEST(RanksTest, RunsSixtyFourRanks) {
  std::string text =
      "module attributes {mf.mesh = #mf.mesh<pp = 4, dp = 4, mp = 4>} {\n";
  for (int64_t stage = 0; stage < 4; ++stage)
    text += makeStage(stage, 4, 16);
  ParsedProgram parsed(text + "}");
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  EXPECT_EQ(llvm::toString(prove(parsed.get(), {/*ranks=*/false}).takeError()),
            "");
  std::unique_ptr<Runner> runner = makeRunner(parsed.get());
  ASSERT_TRUE(runner);
  for (int64_t rank = 0; rank < 64; ++rank)
    setFloats(*runner, rank, 0, {static_cast<float>(rank)});
  for (int step = 0; step < 3; ++step)
    ASSERT_TRUE(static_cast<bool>(runner->runStep({})));
  for (int64_t rank = 0; rank < 64; ++rank) {
    const int64_t stage = rank / 16;
    std::vector<float> expected(16);
    for (int64_t i = 0; i < 16; ++i)
      for (int64_t other = 0; other <= stage; ++other)
        expected[i] += static_cast<float>(16 * other + i);
    EXPECT_EQ(getFloats(*runner, rank, 1), expected) << "rank " << rank;
  }
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
  ParsedProgram parsed(text);
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  std::unique_ptr<Runner> runner = makeRunner(parsed.get());
  ASSERT_TRUE(runner);
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
