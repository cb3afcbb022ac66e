//===- BatchRulesTest.cpp - Accumulation and batch sizes ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/BatchRules.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mf;
using testing::HasSubstr;

namespace {

struct ResolvedRows {
  EffectiveBatch batch;
  std::string messages;
};

ResolvedRows resolve(llvm::StringRef text,
                     std::optional<int64_t> steps = std::nullopt) {
  DiagnosticList diagnostics;
  TrainingConfig config = parseTrainingConfig(text, "t.yaml", diagnostics);
  ResolvedRows resolved;
  resolved.batch = resolveBatch(config, steps, diagnostics);
  resolved.messages = diagnostics.str();
  return resolved;
}

TEST(BatchRulesTest, AccumulationMultipliesTheBatch) {
  ResolvedRows resolved =
      resolve("parallel_config: {data_parallel: 4}\n"
              "runner_config: {batch_size: 2, "
              "gradient_accumulation_steps: 8}\n"
              "runner_wrapper: {type: MFTrainOneStepCell}\n");
  EXPECT_EQ(resolved.messages, "");
  EXPECT_EQ(resolved.batch.globalBatchSize, 64);
  EXPECT_EQ(resolved.batch.samplesPerRank, 64);
  EXPECT_EQ(resolved.batch.getMicroBatches(), 8);
  EXPECT_EQ(resolved.batch.wrapperType, "MFPipelineWithLossScaleCell");
  EXPECT_TRUE(resolved.batch.useClipGrad);
}

TEST(BatchRulesTest, NoAccumulationOutsideSemiAutoMode) {
  ResolvedRows resolved = resolve("use_parallel: False\n", 4);
  EXPECT_THAT(resolved.messages,
              HasSubstr("reset from 4 to 1 in stand_alone mode"));
  EXPECT_EQ(resolved.batch.globalBatchSize, 1);
}

TEST(BatchRulesTest, FullBatchOffDividesByDataParallel) {
  ResolvedRows resolved = resolve("parallel: {full_batch: False}\n"
                                  "parallel_config: {data_parallel: 8}\n"
                                  "runner_config: {batch_size: 4}\n");
  EXPECT_EQ(resolved.batch.globalBatchSize, 32);
  EXPECT_EQ(resolved.batch.samplesPerRank, 4);
}

TEST(BatchRulesTest, AnOverflowingBatchIsAnError) {
  ResolvedRows resolved = resolve("parallel: {parallel_mode: 1}\n"
                                  "parallel_config: {data_parallel: 1048576}\n"
                                  "micro_batch_interleave_num: 64\n"
                                  "runner_config: {batch_size: 2147483647, "
                                  "gradient_accumulation_steps: 65536}\n");
  EXPECT_THAT(resolved.messages,
              HasSubstr("t.yaml:4:29: error: the global batch size, which is a "
                        "multiple of 'batch_size', does not fit"));
}

} // namespace
