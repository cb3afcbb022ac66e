//===- ModelMessagesTest.cpp - Errors and warnings about models -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "ReadModel.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "mf/Frontend/Import/ModelReader.h"

using namespace mf;

/// Release 1.1 has the width where later ones have a factor of it.
TEST(ModelMessagesTest, TelechatMultiplierIsTheWidthInRelease11) {
  auto read = [](llvm::StringRef lines) {
    return readModelConfig(lines, "TelechatForCausalLM");
  };
  EXPECT_EQ(read("ffn_dim_multiplier: 12288").feedForwardSize, 12288);
  EXPECT_EQ(read("ffn_dim_multiplier: 12288\nintermediate_size: 11008")
                .feedForwardSize,
            11008);
  EXPECT_EQ(read("hidden_size: 8192\nffn_dim_multiplier: 1.3").feedForwardSize,
            28672);
}

TEST(ModelMessagesTest, TelechatHeadsAreTiedByNameAndRelease) {
  auto isTied = [](llvm::StringRef lines) {
    return readModelConfig(lines, "TelechatForCausalLM").tiesWordEmbeddings;
  };
  EXPECT_TRUE(isTied("net_name: telechat_7b\nintermediate_size: 12288"));
  EXPECT_FALSE(isTied("net_name: telechat_12b\nintermediate_size: 12288"));
  EXPECT_FALSE(isTied(""));
  EXPECT_TRUE(isTied("model_name: telechat_7b\nffn_dim_multiplier: 12288"));
  EXPECT_TRUE(isTied("ffn_dim_multiplier: 12288"));
  EXPECT_FALSE(isTied("model_name: telechat_12b\nffn_dim_multiplier: 12288"));
}

TEST(ModelMessagesTest, DropoutHasTheKeysOfItsClass) {
  const DropoutSpec newer =
      readModelConfig("hidden_dropout_prob: 0.1\nattention_dropout_prob: 0.2\n"
                      "embed_dropout_prob: 3.e-1",
                      "TelechatForCausalLM")
          .dropout;
  EXPECT_EQ(newer.hidden, 0.1);
  EXPECT_EQ(newer.attention, 0.2);
  EXPECT_EQ(newer.embedding, 0.3);
  EXPECT_FALSE(newer.precedesBias);
  const DropoutSpec glm =
      readModelConfig("hidden_dropout: 0.1\nattention_dropout: 0.2",
                      "ChatGLM2ForConditionalGeneration")
          .dropout;
  EXPECT_EQ(glm.hidden, 0.1);
  EXPECT_EQ(glm.attention, 0.2);
  EXPECT_EQ(
      readModelConfig("hidden_dropout: 0.1", "Qwen3ForCausalLM").dropout.hidden,
      0.1);
}

TEST(ModelMessagesTest, RatesOfDropoutAreSharesBelowOne) {
  for (const char *rate : {"1.0", "-0.1", "1e300", "much"}) {
    DiagnosticList diagnostics;
    readModelConfig((llvm::Twine("hidden_dropout_prob: ") + rate).str(),
                    diagnostics, "TelechatForCausalLM");
    EXPECT_NE(diagnostics.str().find("expected a number from 0 to below 1 for "
                                     "'hidden_dropout_prob', but got "),
              std::string::npos)
        << rate;
  }
}

TEST(ModelMessagesTest, FlashAttentionDropsProbabilities) {
  EXPECT_EQ(readModelConfig("use_flash_attention: True\n"
                            "attention_dropout_prob: 0.1",
                            "TelechatForCausalLM")
                .dropout.attention,
            0.1);
  EXPECT_EQ(readModelConfig("attention_dropout: 0.1", "Qwen3ForCausalLM")
                .dropout.attention,
            0.1);
}

TEST(ModelMessagesTest, TelechatTablesAndBiasesFollowTheirKeys) {
  const char *arch = "TelechatForCausalLM";
  EXPECT_TRUE(readModelConfig("", arch).attentionOutputBias);
  for (const char *key : {"out_proj_has_bias: False", "wo_has_bias: False"})
    EXPECT_FALSE(readModelConfig(key, arch).attentionOutputBias) << key;
}

TEST(ModelMessagesTest, DocumentsEndWithTheTokenThatEndsASequence) {
  const auto getEnd = [](const char *keys) {
    return readModelConfig(keys, "TelechatForCausalLM").documentEnd;
  };
  EXPECT_EQ(getEnd("eos_token_id: 5"), std::nullopt);
  EXPECT_EQ(getEnd("eod_reset: False"), std::nullopt);
  EXPECT_EQ(getEnd("eod_reset: True"), 2);
  EXPECT_EQ(getEnd("eod_reset: True\neos_token_id: 5"), 5);
  EXPECT_EQ(getEnd("eod_reset: True\neos_token_id: 5\neod_token_id: 6"), 6);
}

TEST(ModelMessagesTest, InternLm2IsLlamaWithOneWeightForAttention) {
  const char *arch = "InternLM2ForCausalLM";
  ModelSpec spec = readModelConfig("", arch);
  EXPECT_EQ(getParameterCount(spec), 7737708544);
  EXPECT_EQ(spec.rotary.base, 1e6);
  EXPECT_EQ(spec.padTokenId, 2);
  EXPECT_EQ(spec.headCut, VocabularyCut::None);
  EXPECT_EQ(
      readModelConfig("", arch, "parallel_config: {vocab_emb_dp: False}\n")
          .tableCut,
      VocabularyCut::ContextAndModel);
  EXPECT_EQ(readModelConfig("qkv_concat: False", arch).projections,
            ProjectionLayout::Separate);
}

TEST(ModelMessagesTest, Telechat3MoeIsTheMcoreGraphWithLatentAttention) {
  std::optional<ModelSpec> spec;
  {
    DiagnosticList reading, diagnostics;
    TrainingConfig config = parseTrainingConfig(
        "model:\n  model_config:\n    model_type: telechat3_moe\n"
        "    architectures: [TeleChat3MoeForCausalLM]\n"
        "    num_experts: 192\n    mla_qkv_concat: False\n"
        "    rotary_scaling_factor: 1\n    routed_scaling_factor: 2.8\n",
        "train.yaml", reading);
    spec = readModelSpec(config, {}, diagnostics);
    EXPECT_TRUE(spec.has_value()) << diagnostics.str();
    EXPECT_EQ(diagnostics.str(), "");
  }
  ASSERT_TRUE(spec && spec->latent && spec->experts);
  EXPECT_EQ(spec->family, ModelFamily::Mcore);
  EXPECT_EQ(spec->latent->layout, LatentLayout::QueryApart);
  EXPECT_DOUBLE_EQ(spec->latent->scale, 1.0 / std::sqrt(192.0));
  EXPECT_EQ(spec->experts->router.numChosen, 8);
}

TEST(ModelMessagesTest, ClassesOfConfigurationsAreKnown) {
  auto read = [](llvm::StringRef keys) {
    DiagnosticList reading, diagnostics;
    const TrainingConfig config =
        parseTrainingConfig(("model: {model_config: {" + keys + "}}\n").str(),
                            "train.yaml", reading);
    readModelSpec(config, {}, diagnostics);
    return diagnostics.str();
  };
  const std::string qwen = "architectures: Qwen3ForCausalLM, model_type: ";
  EXPECT_EQ(read(qwen + "qwen3_moe"), "");
  // A class of the user's own.
  EXPECT_EQ(read(qwen + "own, auto_register: own.OwnConfig"), "");
}
