//===- RunnerTest.cpp - Execution of programs on emulated devices ---------===//

#include "mf/Runner/Runner.h"
#include "test/unit/Program/ParsedProgram.h"
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mf;
using namespace mf::program;
using namespace mf::runner;
using ::testing::ElementsAre;

namespace {

constexpr llvm::StringLiteral header =
    " attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = "
    "4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = "
    "4096, host_bytes = 256} {\n";

std::vector<float> getFloats(Runner &runner, size_t rank, uint32_t number) {
  llvm::MutableArrayRef<uint8_t> bytes = runner.getStatic(rank, number);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

void setFloats(Runner &runner, size_t rank, uint32_t number,
               const std::vector<float> &values) {
  llvm::MutableArrayRef<uint8_t> bytes = runner.getStatic(rank, number);
  ASSERT_EQ(bytes.size(), values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
}

std::unique_ptr<Runner> makeRunner(const Program &program,
                                   const RunnerOptions &options = {}) {
  auto runner = Runner::create(program, options);
  if (!runner) {
    ADD_FAILURE() << llvm::toString(runner.takeError());
    return nullptr;
  }
  return std::move(*runner);
}

/// w += lr * (w + w), with lr from the host, and w's first value to the host.
const std::string oneRank =
    "ascend.program @stage0 rank 0 of 1" + header.str() + R"(
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
ascend.routine @update(%d: !ascend.buffer<4xf32, hbm>) {
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
  ascend.call @update(%d) : (!ascend.buffer<4xf32, hbm>) -> ()
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
  input.learningRate = 0.25;
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
  EXPECT_EQ(findUpdate(parsed.get().ranks[0]), 4u);
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

} // namespace
