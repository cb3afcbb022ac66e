//===- LatentAttentionTest.cpp --------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Latent attention, YaRN and layers that predict later tokens, as configuration
// classes describe them.
//
//===----------------------------------------------------------------------===//

#include "ReadModel.h"
#include "gmock/gmock.h"
#include <algorithm>
#include <cmath>

using namespace mf;

static std::string getMessages(llvm::StringRef lines, llvm::StringRef arch) {
  DiagnosticList diagnostics;
  readModelConfig(lines, diagnostics, arch);
  return diagnostics.str();
}

/// DeepSeek-V3 without its experts; `more` are further lines.
static std::string getDeepSeek(llvm::StringRef more = "") {
  return ("seq_length: 4096\nhidden_size: 7168\nnum_layers: 3\n"
          "num_heads: 128\nintermediate_size: 18432\nvocab_size: 129280\n"
          "kv_lora_rank: 512\nq_lora_rank: 1536\nqk_rope_head_dim: 64\n"
          "v_head_dim: 128\nqk_nope_head_dim: 128\n"
          "use_flash_attention: True\n" +
          more)
      .str();
}

static constexpr char noScaling[] = "extend_method: \"None\"\n";
static constexpr char yarnScaling[] =
    "scaling_factor: {factor: 40, original_max_position_embeddings: 4096, "
    "beta_slow: 1, beta_fast: 32, mscale: 1.0, mscale_all_dim: 1.0}\n";

TEST(LatentAttentionTest, ParameterCountsOfDeepSeekV3) {
  const int64_t dense = 583483392, vocabulary = 2 * 129280ll * 7168 + 7168;
  const std::string lines = getDeepSeek(noScaling);
  EXPECT_EQ(getParameterCount(readModelConfig(lines, "DeepseekV3ForCausalLM")),
            3 * dense + vocabulary);
  EXPECT_EQ(getParameterCount(readModelConfig(lines + "mtp_depth: 1\n",
                                              "DeepseekV3ForCausalLM")),
            4 * dense + vocabulary + 2 * 7168ll * 7168 + 3 * 7168);
  for (const char *layout : {"mla_qkv_concat: True", "mla_qkv_concat: False"})
    EXPECT_EQ(getParameterCount(readModelConfig(
                  std::string("num_hidden_layers: 3\nmtp_num_layers: 1\n"
                              "mtp_loss_scaling_factor: 0.3\n") +
                      layout,
                  "deepseek_v3")),
              4 * dense + vocabulary + 2 * 7168ll * 7168 + 3 * 7168);
}

TEST(LatentAttentionTest, ScaleOfScores) {
  auto getScale = [](const std::string &lines, const char *arch) {
    return readModelConfig(lines, arch).latent->scale * std::sqrt(192.0);
  };
  const char *legacy = "DeepseekV3ForCausalLM";
  EXPECT_DOUBLE_EQ(getScale(getDeepSeek(noScaling), legacy), 1.0);
  // The value of extend_method does not matter.
  EXPECT_NEAR(getScale(getDeepSeek(yarnScaling), legacy), 1.87385, 1e-5);
  EXPECT_NEAR(
      getScale(getDeepSeek(std::string(noScaling) + yarnScaling), legacy),
      1.87385, 1e-5);
  EXPECT_NEAR(getScale("", "deepseek_v3"), 1.58963, 1e-5);
  EXPECT_NEAR(getScale("rope_scaling: {type: yarn, factor: 40, mscale: 1.0, "
                       "mscale_all_dim: 1.0, beta_fast: 32, beta_slow: 1, "
                       "original_max_position_embeddings: 4096}",
                       "deepseek_v3"),
              1.87385, 1e-5);
  EXPECT_DOUBLE_EQ(getScale("rotary_scaling_factor: 1", "deepseek_v3"), 1.0);
}

/// The waves of dimensions 10 to 23 are those between.
TEST(LatentAttentionTest, YarnOfDeepSeekV3) {
  ModelSpec spec =
      readModelConfig(getDeepSeek(yarnScaling), "DeepseekV3ForCausalLM");
  ASSERT_EQ(spec.rotary.frequencies.size(), 32u);
  EXPECT_EQ(spec.rotary.amplitude, 1.0);
  for (int64_t i = 0; i < 32; ++i) {
    const double plain = std::pow(10000.0, -static_cast<double>(i) / 32);
    const double kept =
        1 - std::clamp((static_cast<double>(i) - 10) / 13, 0.0, 1.0);
    EXPECT_DOUBLE_EQ(spec.rotary.frequencies[static_cast<size_t>(i)],
                     plain * (kept + (1 - kept) / 40))
        << i;
  }
}

TEST(LatentAttentionTest, WhatDoesNotFitIsAnError) {
  const char *legacy = "DeepseekV3ForCausalLM";
  EXPECT_EQ(getMessages(getDeepSeek(), legacy),
            "train.yaml:4:5: error: expected a map for 'scaling_factor' with "
            "extend_method 'YARN': factor, original_max_position_embeddings, "
            "beta_slow, beta_fast, mscale and mscale_all_dim\n");
  EXPECT_THAT(
      getMessages(getDeepSeek("scaling_factor: {factor: 40}\n"), legacy),
      testing::HasSubstr("expected a number above 0 for 'beta_slow' in "
                         "scaling_factor"));
  std::string wide = getDeepSeek(noScaling);
  wide.replace(wide.find("v_head_dim: 128"), 15, "v_head_dim: 192");
  EXPECT_THAT(getMessages(wide, legacy),
              testing::HasSubstr("expected 128 for 'v_head_dim', as for "
                                 "'qk_nope_head_dim', but got 192"));
  EXPECT_EQ(getMessages(wide + "enable_fa_var_len: True\n", legacy), "");
  EXPECT_THAT(
      getMessages(getDeepSeek(std::string(noScaling) + "mtp_depth: 4096\n"),
                  legacy),
      testing::HasSubstr("expected from 0 to fewer than the 4096 tokens of a "
                         "sequence for 'mtp_depth', but got 4096"));
  EXPECT_EQ(getMessages("mtp_num_layers: 2\nmtp_loss_scaling_factor: 0.3",
                        "deepseek_v3"),
            "train.yaml:5:21: error: expected 0 or 1 for 'mtp_num_layers', but "
            "got 2\n");
  EXPECT_EQ(getMessages("mtp_num_layers: 1", "deepseek_v3"),
            "train.yaml:5:21: error: a layer that predicts a later token "
            "('mtp_num_layers') needs the weight of its loss, "
            "'mtp_loss_scaling_factor', which has no default\n");
}

TEST(LatentAttentionTest, ExpertsThatNoLayerHas) {
  EXPECT_EQ(getMessages("n_routed_experts: 256\nfirst_k_dense_replace: 61\n"
                        "num_hidden_layers: 61\n",
                        "deepseek_v3")
                .find("experts (here"),
            std::string::npos);
  EXPECT_THAT(getMessages(getDeepSeek(std::string(noScaling) +
                                      "mtp_depth: 1\nn_routed_experts: 256\n"
                                      "first_k_dense_replace: 3\n"),
                          "DeepseekV3ForCausalLM"),
              testing::HasSubstr("expected experts (here 256) in moe_config"));
}
