//===- FusionConfigTest.cpp - Operators that a device fuses ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/FusionConfig.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mf;

namespace {

FusionConfig read(llvm::StringRef text, bool isMcore,
                  DiagnosticList &diagnostics) {
  TrainingConfig config = parseTrainingConfig(text, "a.yaml", diagnostics);
  return readFusionConfig(config, isMcore, diagnostics);
}

FusionConfig read(llvm::StringRef text, bool isMcore = false) {
  DiagnosticList diagnostics;
  FusionConfig fusions = read(text, isMcore, diagnostics);
  EXPECT_TRUE(diagnostics.empty()) << diagnostics.str();
  return fusions;
}

TEST(FusionConfigTest, ReadsKeysOfClassicClasses) {
  FusionConfig fusions =
      read("model: {model_config: {use_fused_rope: True,\n"
           "  use_fused_swiglu: True}}\n"
           "moe_config: {expert_num: 2, use_gmm: False,\n"
           "  use_fused_ops_permute: True, use_fused_ops_topkrouter: True}\n");
  EXPECT_TRUE(fusions.rotary.isOn);
  EXPECT_EQ(fusions.rotary.key, "use_fused_rope");
  EXPECT_EQ(fusions.rotary.location.line, 1u);
  EXPECT_TRUE(fusions.swiglu.isOn);
  EXPECT_EQ(fusions.swiglu.location.line, 2u);
  EXPECT_FALSE(fusions.groupMatmuls.isOn);
  EXPECT_TRUE(fusions.permuteTokens.isOn);
  EXPECT_TRUE(fusions.route.isOn);
  EXPECT_EQ(fusions.route.location.line, 4u);
}

TEST(FusionConfigTest, ADenseModelHasNoExpertsToFuse) {
  FusionConfig fusions =
      read("moe_config: {expert_num: 1, use_fused_ops_permute: True}\n");
  EXPECT_FALSE(fusions.permuteTokens.isOn);
  EXPECT_FALSE(fusions.permuteTokens.location.isKnown());
}

TEST(FusionConfigTest, AnActivationAsksForSwiGlu) {
  constexpr llvm::StringLiteral text =
      "model: {model_config: {hidden_act: fusedswiglu}}";
  EXPECT_TRUE(read(text, true).swiglu.isOn);
  EXPECT_EQ(read(text, true).swiglu.key, "hidden_act");
  EXPECT_FALSE(read(text, false).swiglu.isOn);
}

TEST(FusionConfigTest, SaysWhatIsWrong) {
  DiagnosticList diagnostics;
  read("model: {model_config: {use_fused_rope: 1.5}}", false, diagnostics);
  EXPECT_THAT(diagnostics.str(),
              testing::HasSubstr("a.yaml:1:40: error: expected a bool for "
                                 "'use_fused_rope', but got 1.5"));
}

} // namespace
