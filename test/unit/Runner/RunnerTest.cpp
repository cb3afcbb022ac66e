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

/// oneRank with its parameter set.
struct OneRank : RunningProgram {
  explicit OneRank(const std::string &text = oneRank,
                   const RunnerOptions &options = {})
      : RunningProgram(text, options) {
    setFloats(*runner, 0, 0, {1, 2, 3, 4});
  }
  std::vector<float> getParameter() { return getFloats(*runner, 0, 0); }
};

/// oneRank with another text at a place.
std::string replace(llvm::StringRef from, llvm::StringRef to) {
  std::string text = oneRank;
  return text.replace(text.find(from.str()), from.size(), to.str());
}

TEST(RunnerTest, RunsOneRank) {
  OneRank one;
  StepInput input;
  input.learningRates = {0.25};
  const StepOutput output = one.runStep(input);
  EXPECT_THAT(one.getParameter(), ElementsAre(2, 4, 6, 8));
  EXPECT_THAT(getFloats(*one.runner, 0, 1), ElementsAre(0.25));
  EXPECT_EQ(output.loss, 1.5f);
  EXPECT_FALSE(output.globalNorm);
  const std::vector<StreamUse> uses = one.runner->getStreamUse(0);
  ASSERT_EQ(uses.size(), 3u);
  EXPECT_EQ(uses[1].name, "h2d");
  EXPECT_EQ(uses[1].statistics.copies, 1);
  EXPECT_EQ(uses[1].statistics.copiedBytes, 4);
}

/// At the end where nothing is updated.
TEST(RunnerTest, StopsBeforeTheUpdate) {
  for (bool hasUpdate : {true, false}) {
    OneRank one(hasUpdate ? oneRank
                          : replace(" attributes {updates_parameters}", ""));
    EXPECT_EQ(findUpdate(one.parsed.get().stages[0]),
              hasUpdate ? std::optional(4U) : std::nullopt);
    std::vector<float> before;
    const StepOutput output = one.runStep({}, [&] {
      before = one.getParameter();
      return llvm::Error::success();
    });
    if (hasUpdate)
      EXPECT_THAT(before, ElementsAre(1, 2, 3, 4));
    else
      EXPECT_THAT(before, ElementsAre(2, 4, 6, 8));
    EXPECT_THAT(one.getParameter(), ElementsAre(2, 4, 6, 8));
    EXPECT_EQ(output.loss, 1.5f);
  }
}

TEST(RunnerTest, RecordsWhenInstructionsRan) {
  OneRank one;
  one.runStep();
  const auto begin = std::chrono::steady_clock::now();
  one.runner->recordNextStep({0});
  one.runStep();
  const std::vector<RankRecord> record = one.runner->takeRecord();
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
  one.runStep();
  EXPECT_TRUE(one.runner->takeRecord().empty());
}

TEST(RunnerTest, DebugsMemory) {
  RunnerOptions options;
  options.debugMemory = true;
  OneRank one(oneRank, options);
  for (int step = 0; step < 3; ++step)
    one.runStep();
  EXPECT_THAT(one.getParameter(), ElementsAre(8, 16, 24, 32));
  EXPECT_EQ(one.runner->getTouchedBytes(0, Space::Device), 1024 + 16);
  EXPECT_EQ(one.runner->getTouchedBytes(0, Space::Host), 64 + 8);
  EXPECT_FALSE(static_cast<bool>(one.runner->checkMemory()));
}

TEST(RunnerTest, RefusesTokensThatDoNotFit) {
  RunningProgram one(
      replace("@lr learning_rate : !ascend.buffer<f32, host>",
              "@tokens tokens : !ascend.buffer<1x4xi32, host> at 128\n"
              "ascend.static @lr learning_rate : !ascend.buffer<f32, host>"));
  std::vector<int32_t> tokens = {1, 2, 3, 4, 5};
  for (size_t count : {3, 5}) {
    StepInput input;
    input.tokens = llvm::ArrayRef(tokens).take_front(count);
    llvm::Expected<StepOutput> output = one.runner->runStep(input);
    ASSERT_FALSE(static_cast<bool>(output));
    EXPECT_TRUE(output.errorIsA<LocatedError>());
    llvm::consumeError(output.takeError());
  }
  StepInput input;
  input.tokens = llvm::ArrayRef(tokens).take_front(4);
  one.runStep(input);
  llvm::MutableArrayRef<uint8_t> bytes = one.runner->getStatic(0, 1);
  EXPECT_EQ(std::memcmp(bytes.data(), tokens.data(), 16), 0);
}

TEST(RunnerTest, LocatesKernelsThatCannotBeMade) {
  ParsedProgram parsed(
      replace(R"("aclnnMuls"(%t) -> (%out) {value = 0.5 : f64})",
              R"("aclnnSwiGlu"(%t) -> (%out) {})"));
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  auto runner = Runner::create(parsed.get(), {});
  ASSERT_FALSE(static_cast<bool>(runner));
  llvm::handleAllErrors(runner.takeError(), [&](const LocatedError &error) {
    EXPECT_EQ(parsed.getLine(error.getLocation()), 13u);
    EXPECT_THAT(error.getMessage(), ::testing::HasSubstr("expected 2xf32"));
  });
}

} // namespace
