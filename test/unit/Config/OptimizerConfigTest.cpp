//===- OptimizerConfigTest.cpp - Optimizer and learning rates -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ParsedConfigs.h"

using namespace mf;

namespace {

TEST(OptimizerConfigTest, OptimizerAndScheduleSpellings) {
  ParsedConfig parsed =
      parse("optimizer: {type: AdamW, betas: [0.9, 0.95], "
            "eps: 1e-5, weight_decay: 0.1}\n"
            "lr_schedule: {type: polynomial, learning_rate: 1.e-4,"
            " warmup_steps: 10}\n");
  EXPECT_TRUE(parsed.diagnostics.empty()) << parsed.diagnostics.str();
  EXPECT_EQ(parsed.config.optimizer.beta2, 0.95);
  EXPECT_EQ(parsed.config.optimizer.eps, 1e-5);
  EXPECT_EQ(parsed.config.lrSchedule.lrEnd, std::nullopt);
  EXPECT_EQ(parsed.config.lrSchedule.warmupSteps, 10);
  parsed = parse("optimizer: {type: FP32StateAdamWeightDecay, beta1: 0.8}\n"
                 "lr_schedule: {type: ConstantWarmUpLR, warmup_steps: 3, "
                 "warmup_ratio: 0.03}\n");
  EXPECT_EQ(parsed.config.optimizer.kind,
            OptimizerKind::FP32StateAdamWeightDecay);
  EXPECT_EQ(parsed.config.optimizer.beta1, 0.8);
  EXPECT_EQ(parsed.config.optimizer.eps, 1e-6);
  EXPECT_EQ(parsed.config.lrSchedule.warmupRatio, 0.03);
}

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

TEST(OptimizerConfigTest, PmaAdamWAveragesParameters) {
  ParsedConfig parsed = parse("optimizer: {type: PmaAdamW}\n");
  EXPECT_TRUE(parsed.diagnostics.empty()) << parsed.diagnostics.str();
  const OptimizerConfig &missing = parsed.config.optimizer;
  EXPECT_TRUE(missing.correctsBias());
  EXPECT_EQ(missing.eps, 1e-6);
  ASSERT_TRUE(missing.average);
  EXPECT_EQ(missing.average->interleaveStep, 1000);
  EXPECT_EQ(missing.average->fusedNum, 10);
  EXPECT_EQ(missing.average->emaAlpha, 0.2);
  EXPECT_FALSE(missing.average->sums);
  parsed = parse("optimizer: {type: PmaAdamW, fused_num: 3, interleave_step: 7,"
                 " fused_algo: sma}\n");
  ASSERT_TRUE(parsed.config.optimizer.average);
  EXPECT_TRUE(parsed.config.optimizer.average->sums);
  EXPECT_EQ(parsed.config.optimizer.average->interleaveStep, 7);
  EXPECT_EQ(parsed.config.optimizer.average->fusedNum, 3);
  parsed = parse("optimizer: {type: PmaAdamW, fused_algo: mean, ema_alpha: 1}");
  EXPECT_EQ(parsed.diagnostics.getErrorCount(), 2u);
  parsed = parse("optimizer: {type: AdamW, fused_num: 3}");
  EXPECT_NE(parsed.diagnostics.str().find("only PmaAdamW averages parameters"),
            std::string::npos);
  EXPECT_FALSE(parsed.config.optimizer.average);
}

TEST(OptimizerConfigTest, MuonHasStepsForItsMatrices) {
  ParsedConfig parsed = parse("optimizer: {type: Muon}\n");
  EXPECT_TRUE(parsed.diagnostics.empty()) << parsed.diagnostics.str();
  const OptimizerConfig &missing = parsed.config.optimizer;
  ASSERT_TRUE(missing.muon);
  EXPECT_EQ(missing.beta1, 0.95);
  EXPECT_EQ(missing.eps, 1e-8);
  EXPECT_EQ(missing.muon->eps, 1e-7);
  EXPECT_EQ(missing.muon->coefficients.size(), 5u);
  EXPECT_FALSE(missing.muon->spreadsWeights);
  EXPECT_EQ(missing.muon->logitThreshold, 4.0);
  parsed = parse("optimizer: {type: Muon, ns_coefficients: [[[3, -4, 2], 2], "
                 "[[2, -1.5, 0.5], 1]], adamw_betas: [0.8, 0.9], adamw_eps: "
                 "1.e-6, eps: 1.e-5, adamw_include: ['head'], comm_strategy: "
                 "allgather_deredundency, qk_clip_threshold: 2.5, "
                 "micro_batch_num: 4}\n");
  EXPECT_TRUE(parsed.diagnostics.empty()) << parsed.diagnostics.str();
  const OptimizerConfig &given = parsed.config.optimizer;
  ASSERT_TRUE(given.muon);
  ASSERT_EQ(given.muon->coefficients.size(), 3u);
  EXPECT_EQ(given.muon->coefficients[1][1], -4);
  EXPECT_EQ(given.muon->coefficients[2][2], 0.5);
  EXPECT_EQ(given.beta2, 0.9);
  EXPECT_EQ(given.eps, 1e-6);
  EXPECT_EQ(given.muon->eps, 1e-5);
  EXPECT_TRUE(given.muon->spreadsWeights);
  EXPECT_EQ(given.muon->logitThreshold, 10.0);
  EXPECT_EQ(given.muon->adamwInclude, std::vector<std::string>{"head"});
}

TEST(OptimizerConfigTest, MuonsKeysAreChecked) {
  ParsedConfig parsed = parse(
      "optimizer: {type: Muon, ns_steps: 0, ns_coefficients: [1, 2], "
      "adamw_betas: [1, 0.5], adamw_include: 3, comm_strategy: broadcast, "
      "qk_clip_threshold: 0}\n");
  EXPECT_EQ(parsed.diagnostics.getErrorCount(), 6u) << parsed.diagnostics.str();
  parsed = parse("optimizer: {type: AdamW, ns_steps: 3}");
  EXPECT_NE(parsed.diagnostics.str().find("the optimizer is not Muon"),
            std::string::npos);
  parsed = parse("optimizer: {type: Muon, betas: [0.9, 0.95]}");
  EXPECT_NE(parsed.diagnostics.str().find("'betas' has no effect"),
            std::string::npos);
}

TEST(OptimizerConfigTest, CameHasConstantsOfItsOwn) {
  ParsedConfig parsed =
      parse("optimizer: {type: Came, eps: [1.e-20, 1.e-3, 1.e-10], "
            "clip_threshold: 2, decay_rate: 0.5, beta3: 0.9, "
            "scale_parameter: False}\n");
  EXPECT_TRUE(parsed.diagnostics.empty()) << parsed.diagnostics.str();
  const OptimizerConfig &given = parsed.config.optimizer;
  ASSERT_TRUE(given.came);
  EXPECT_EQ(given.beta1, 0.9);
  EXPECT_EQ(given.came->eps, 1e-20);
  EXPECT_EQ(given.came->instabilityEps, 1e-10);
  EXPECT_EQ(given.came->clipThreshold, 2);
  EXPECT_EQ(given.came->decayRate, 0.5);
  EXPECT_EQ(given.came->beta3, 0.9);
  parsed = parse("optimizer: {type: Came, eps: 1.e-8, beta3: 1, "
                 "betas: [0.9, 0.95], scale_parameter: True, relative_step: "
                 "True, clip_threshold: 0}\n");
  EXPECT_EQ(parsed.diagnostics.getErrorCount(), 6u) << parsed.diagnostics.str();
  parsed = parse("optimizer: {type: Came, beta1: 0}");
  EXPECT_EQ(parsed.diagnostics.getErrorCount(), 1u) << parsed.diagnostics.str();
  parsed = parse("optimizer: {type: AdamW, beta3: 0.9}");
  EXPECT_NE(parsed.diagnostics.str().find("the optimizer is not Came"),
            std::string::npos);
}

TEST(OptimizerConfigTest, AScheduleKeepsOnlyWhatIsWritten) {
  const LrScheduleConfig &none = parse("").config.lrSchedule;
  EXPECT_EQ(none.lrEnd, 0.0);
  EXPECT_EQ(none.warmupRatio, 0.0);
  for (const char *type :
       {"PolynomialWithWarmUpLR", "CosineWithRestartsAndWarmUpLR", "cosine"}) {
    ParsedConfig parsed =
        parse("lr_schedule: {learning_rate: 1.e-4, lr_end: null, type: " +
              std::string(type) + "}\n");
    const LrScheduleConfig &schedule = parsed.config.lrSchedule;
    EXPECT_TRUE(parsed.diagnostics.empty()) << parsed.diagnostics.str();
    EXPECT_TRUE(findLrScheduleKind(schedule.type));
    EXPECT_EQ(schedule.lrEnd, std::nullopt);
    EXPECT_EQ(schedule.numCycles, std::nullopt);
    EXPECT_EQ(schedule.power, std::nullopt);
    EXPECT_EQ(schedule.warmupRatio, std::nullopt);
  }
  ParsedConfig parsed =
      parse("lr_schedule: {type: WarmUpStableDecayLR, power: 2, "
            "decay_start_ratio: 0.8, lr_end: 1e-7}\n");
  EXPECT_TRUE(parsed.diagnostics.empty()) << parsed.diagnostics.str();
  EXPECT_EQ(parsed.config.lrSchedule.decayStartRatio, 0.8);
  EXPECT_EQ(parsed.config.lrSchedule.power, 2.0);
  EXPECT_EQ(parsed.config.lrSchedule.lrEnd, 1e-7);
  EXPECT_FALSE(findLrScheduleKind("COSINE"));
}

} // namespace
