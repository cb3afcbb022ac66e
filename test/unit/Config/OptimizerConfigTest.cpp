//===- OptimizerConfigTest.cpp - Optimizer and learning rates -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ParsedConfigs.h"

using namespace mf;

namespace {

TEST(OptimizerConfigTest, AdamWeightDecayXCorrectsBiasAndOthersOfTheNameDoNot) {
  OptimizerConfig x =
      parse("optimizer: {type: AdamWeightDecayX}\n").config.optimizer;
  EXPECT_TRUE(x.correctsBias());
  EXPECT_TRUE(x.correctsEps());
  EXPECT_EQ(x.eps, 1e-8);
  for (const char *type : {"AdamWeightDecay", "FusedAdamWeightDecay",
                           "FP32StateAdamWeightDecay"}) {
    OptimizerConfig plain =
        parse("optimizer: {type: " + std::string(type) + "}\n")
            .config.optimizer;
    EXPECT_FALSE(plain.correctsBias()) << type;
    EXPECT_FALSE(plain.correctsEps()) << type;
    EXPECT_EQ(plain.eps, 1e-6) << type;
  }
}

TEST(OptimizerConfigTest, OptimizersHaveDefaultsOfTheirOwn) {
  const OptimizerConfig averaging =
      parse("optimizer: {type: PmaAdamW}\n").config.optimizer;
  EXPECT_EQ(averaging.eps, 1e-6);
  EXPECT_EQ(averaging.average->interleaveStep, 1000);
  EXPECT_EQ(averaging.average->fusedNum, 10);
  EXPECT_EQ(averaging.average->emaAlpha, 0.2);
  EXPECT_FALSE(averaging.average->sums);
  const OptimizerConfig muon =
      parse("optimizer: {type: Muon}\n").config.optimizer;
  EXPECT_EQ(muon.beta1, 0.95);
  EXPECT_EQ(muon.eps, 1e-8);
  EXPECT_EQ(muon.muon->eps, 1e-7);
  EXPECT_EQ(muon.muon->coefficients.size(), 5u);
  EXPECT_FALSE(muon.muon->spreadsWeights);
  EXPECT_EQ(muon.muon->logitThreshold, 4.0);
}

/// As the micro-batches that add up in the largest logit.
TEST(OptimizerConfigTest, MuonsThresholdGrowsWithMicroBatches) {
  EXPECT_EQ(parse("optimizer: {type: Muon, qk_clip_threshold: 2.5, "
                  "micro_batch_num: 4}\n")
                .config.optimizer.muon->logitThreshold,
            10.0);
}

TEST(OptimizerConfigTest, WrongKeysOfAnOptimizerAreAllNamed) {
  const std::pair<const char *, size_t> cases[] = {
      {"type: PmaAdamW, fused_algo: mean, ema_alpha: 1", 2},
      {"type: Muon, ns_steps: 0, ns_coefficients: [1, 2], adamw_betas: [1, "
       "0.5], adamw_include: 3, comm_strategy: broadcast, qk_clip_threshold: 0",
       6},
      {"type: Came, eps: 1.e-8, beta3: 1, betas: [0.9, 0.95], scale_parameter: "
       "True, relative_step: True, clip_threshold: 0",
       6},
      {"type: Came, beta1: 0", 1}};
  for (const auto &[keys, errors] : cases) {
    const ParsedConfig parsed =
        parse("optimizer: {" + std::string(keys) + "}\n");
    EXPECT_EQ(parsed.diagnostics.getErrorCount(), errors)
        << parsed.diagnostics.str();
  }
}

TEST(OptimizerConfigTest, KeysOfOtherOptimizersHaveNoEffect) {
  expectMessage("optimizer: {type: AdamW, fused_num: 3}",
                "only PmaAdamW averages parameters");
  expectMessage("optimizer: {type: AdamW, ns_steps: 3}",
                "the optimizer is not Muon");
  expectMessage("optimizer: {type: AdamW, beta3: 0.9}",
                "the optimizer is not Came");
  expectMessage("optimizer: {type: Muon, betas: [0.9, 0.95]}",
                "'betas' has no effect");
}

TEST(OptimizerConfigTest, SchedulesHaveLongAndShortNames) {
  for (const char *type :
       {"PolynomialWithWarmUpLR", "CosineWithRestartsAndWarmUpLR", "cosine"})
    EXPECT_TRUE(findLrScheduleKind(type)) << type;
  EXPECT_FALSE(findLrScheduleKind("COSINE"));
  // What is null is not written, and a number may be text.
  const LrScheduleConfig none =
      parse("lr_schedule: {learning_rate: 1.e-4, lr_end: null}\n")
          .config.lrSchedule;
  EXPECT_EQ(none.lrEnd, std::nullopt);
  EXPECT_EQ(none.warmupRatio, std::nullopt);
  EXPECT_EQ(parse("lr_schedule: {lr_end: 1e-7}\n").config.lrSchedule.lrEnd,
            1e-7);
}

} // namespace
