//===- RunnerTesting.h - Programs to run and their values -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_RUNNER_RUNNERTESTING_H
#define MF_TEST_UNIT_RUNNER_RUNNERTESTING_H

#include "mf/Exec/Data/ElementConversion.h"
#include "mf/Exec/Runner/ModelState.h"
#include "test/unit/Program/ParsedProgram.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"
#include <cstring>

namespace mf::runner {

/// The text after the number of a stage: attributes, and the brace that
/// opens the program.
inline std::string makeHeader(int64_t microBatchSize, int64_t sequenceLength,
                              int64_t arenaBytes, int64_t hostBytes,
                              llvm::StringRef more = "") {
  return llvm::formatv(
      " attributes {{micro_batches = 1, micro_batch_size = {0}, "
      "sequence_length = {1}, vocab_size = 16, pad_token_id = -1, "
      "ignore_index = -100, arena_bytes = {2}, host_bytes = {3}{4}} {{\n",
      microBatchSize, sequenceLength, arenaBytes, hostBytes, more);
}

inline std::vector<float> getFloats(Runner &runner, int64_t rank,
                                    uint32_t number) {
  llvm::MutableArrayRef<uint8_t> bytes = runner.getStatic(rank, number);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

inline void setFloats(Runner &runner, int64_t rank, uint32_t number,
                      const std::vector<float> &values) {
  llvm::MutableArrayRef<uint8_t> bytes = runner.getStatic(rank, number);
  ASSERT_EQ(bytes.size(), values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
}

inline std::unique_ptr<Runner> makeRunner(const program::Program &program,
                                          const RunnerOptions &options = {}) {
  auto runner = Runner::create(program, options);
  if (!runner) {
    ADD_FAILURE() << llvm::toString(runner.takeError());
    return nullptr;
  }
  return std::move(*runner);
}

/// A program and its runner.
struct RunningProgram {
  program::ParsedProgram parsed;
  std::unique_ptr<Runner> runner;

  explicit RunningProgram(const std::string &text,
                          const RunnerOptions &options = {})
      : parsed(text) {
    EXPECT_TRUE(parsed.decoded) << parsed.messages;
    if (parsed.decoded)
      runner = makeRunner(parsed.get(), options);
  }

  /// Runs a step that must come to its end.
  ranks::StepOutput
  runStep(const ranks::StepInput &input = {},
          llvm::function_ref<llvm::Error()> useGradients = nullptr) {
    return llvm::cantFail(runner->runStep(input, useGradients));
  }
};

/// With the state of a model.
struct ProgramWithState : RunningProgram {
  std::optional<ModelState> state;

  explicit ProgramWithState(const std::string &text) : RunningProgram(text) {
    if (runner)
      state.emplace(*runner);
  }

  /// The elements of a static in fp32.
  std::vector<float> get(int64_t rank, uint32_t number) {
    const program::Static &buffer =
        parsed.get().getStageOf(rank).statics[number];
    std::vector<float> values(buffer.shape.getNumElements());
    EXPECT_FALSE(static_cast<bool>(convertElements(
        buffer.shape.type, runner->getStatic(rank, number), DType::F32,
        {reinterpret_cast<uint8_t *>(values.data()), values.size() * 4})));
    return values;
  }
};

} // namespace mf::runner

#endif // MF_TEST_UNIT_RUNNER_RUNNERTESTING_H
