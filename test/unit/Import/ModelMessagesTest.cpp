//===- ModelMessagesTest.cpp - Errors and warnings about models -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "ReadModel.h"

using namespace mf;

/// The messages about a model_config, which starts in line 4, column 5.
static std::string getMessages(llvm::StringRef lines,
                               llvm::StringRef arch = "LlamaForCausalLM",
                               const ModelOverrides &overrides = {}) {
  DiagnosticList diagnostics;
  std::optional<ModelSpec> spec =
      readModelConfig(lines, diagnostics, arch, overrides);
  EXPECT_EQ(spec.has_value(), !diagnostics.hasErrors());
  return diagnostics.str();
}

TEST(ModelMessagesTest, HeadsThatDoNotDivideAreErrors) {
  EXPECT_EQ(getMessages("hidden_size: 4096\nnum_heads: 33\n"),
            "train.yaml:6:16: error: expected 'num_heads' to divide "
            "hidden_size 4096, but got 33\n"
            "train.yaml:5:18: note: hidden_size is here\n");
  EXPECT_EQ(getMessages("n_kv_heads: 5"),
            "train.yaml:5:17: error: expected a divisor of the 32 heads for "
            "'n_kv_heads', but got 5\n");
  EXPECT_EQ(getMessages("hidden_size: 96\nnum_heads: 32\n"),
            "train.yaml:6:16: error: rotary embedding needs an even number of "
            "dimensions per head, but there are 3\n");
}

TEST(ModelMessagesTest, WrongValuesAreErrors) {
  EXPECT_EQ(getMessages("hidden_size: -5"),
            "train.yaml:5:18: error: expected an int of at least 1 that fits "
            "32 bits for 'hidden_size', but got an int, -5\n");
  EXPECT_EQ(getMessages("num_layers: [1]"),
            "train.yaml:5:17: error: expected an int of at least 1 that fits "
            "32 bits for 'num_layers', but got a list, [1]\n");
  EXPECT_EQ(getMessages("compute_dtype: float8"),
            "train.yaml:5:20: error: expected float32, float16 or bfloat16 "
            "for 'compute_dtype', but got a string, 'float8'\n");
  EXPECT_EQ(getMessages("rms_norm_eps: 0"),
            "train.yaml:5:19: error: expected a number above 0 for "
            "'rms_norm_eps', but got an int, 0\n");
  EXPECT_EQ(getMessages("use_flash_attention: 1"),
            "train.yaml:5:26: error: expected a bool (True or False) for "
            "'use_flash_attention', but got an int, 1\n");
  EXPECT_EQ(getMessages("extend_method: LINEAR"),
            "train.yaml:5:20: error: expected None, PI, NTK, YARN, LLAMA3 or "
            "DYNAMIC_NTK for 'extend_method', but got 'LINEAR'\n");
}

TEST(ModelMessagesTest, HugeSizesAreErrors) {
  EXPECT_EQ(getMessages("hidden_size: 99999999999"),
            "train.yaml:5:18: error: expected an int of at least 1 that fits "
            "32 bits for 'hidden_size', but got an int, 99999999999\n");
  EXPECT_EQ(getMessages("hidden_size: 2147483584\nintermediate_size: 64\n"),
            "train.yaml:5:18: error: expected at most 1048576 elements per "
            "token, but got 2147483584\n");
  EXPECT_EQ(getMessages("vocab_size: 2147483647"),
            "train.yaml:5:17: error: expected at most 33554432 tokens in a "
            "vocabulary, but got 2147483647\n");
  EXPECT_EQ(getMessages("num_layers: 2147483647"),
            "train.yaml:5:17: error: expected at most 10000 layers, but got "
            "2147483647\n");
  EXPECT_EQ(getMessages("seq_length: 2147483647"),
            "train.yaml:5:17: error: expected at most 268435456 tokens in a "
            "sequence, but got 2147483647\n");
  EXPECT_EQ(getMessages("ffn_dim_multiplier: 12288"),
            "train.yaml:5:25: error: expected at most 262144 elements in a "
            "feed forward with hidden_size 4096, but got 134217984\n");
  EXPECT_EQ(getMessages("intermediate_size: 1000000"),
            "train.yaml:5:24: error: expected at most 262144 elements in a "
            "feed forward with hidden_size 4096, but got 1000000\n");
  EXPECT_EQ(getMessages("hidden_size: 1048576\nseq_length: 268435456\n"
                        "batch_size: 1\nuse_flash_attention: False"),
            "train.yaml:4:5: error: the model is too large: the size of its "
            "tensors in bytes overflows 64 bits\n");
}

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

TEST(ModelMessagesTest, UnknownArchitectureIsAnErrorWithANearName) {
  std::string messages = getMessages("", "LlamaForCausalLLM");
  EXPECT_EQ(messages.substr(0, messages.find('\n')),
            "train.yaml:2:16: error: unknown architecture 'LlamaForCausalLLM'; "
            "did you mean 'LlamaForCausalLM'?");
}

TEST(ModelMessagesTest, ExpertsElsewhereAndLatentAttentionAreErrors) {
  EXPECT_EQ(getMessages("n_routed_experts: 8"),
            "train.yaml:5:23: error: expected experts (here 8) in "
            "moe_config\n"
            "train.yaml:5:5: warning: unknown key 'n_routed_experts' in "
            "model_config (the key is ignored)\n");
  EXPECT_EQ(getMessages("kv_lora_rank: 512"),
            "train.yaml:5:19: error: multi-head latent attention "
            "('kv_lora_rank') is not supported here; expected DeepseekV2, "
            "DeepseekV3 or TeleChat3, or a model with query, key and value "
            "projections\n"
            "train.yaml:5:5: warning: unknown key 'kv_lora_rank' in "
            "model_config (the key is ignored)\n");
}

TEST(ModelMessagesTest, AdaptersOfServingAreErrors) {
  EXPECT_EQ(getMessages("pet_config:\n  pet_type: slora\n"),
            "train.yaml:6:17: error: adapters of pet_type 'slora' are not "
            "supported\n"
            "note: supported are lora, prefixtuning and ptuning2; remove the "
            "section to train all "
            "parameters\n");
}

TEST(ModelMessagesTest, KeysOfOtherClassesNameTheKeyOfThisOne) {
  auto expectOwn = [](const char *line, const char *key, const char *own) {
    EXPECT_EQ(getMessages(line),
              "train.yaml:5:5: warning: '" + std::string(key) +
                  "' in model_config is a key of other classes; this one "
                  "reads '" +
                  own + "' (the key is ignored)\n");
  };
  expectOwn("rope_theta: 1000000.0", "rope_theta", "theta");
  expectOwn("rotary_emb_base: 1000000.0", "rotary_emb_base", "theta");
  expectOwn("num_key_value_heads: 2", "num_key_value_heads", "n_kv_heads");
  expectOwn("layernorm_epsilon: 1.e-6", "layernorm_epsilon", "rms_norm_eps");
  expectOwn("attention_bias: True", "attention_bias", "qkv_has_bias");
  // With both keys there is nothing to mend but the key that does nothing.
  EXPECT_EQ(getMessages("rope_theta: 10000.0\ntheta: 10000.0"),
            "train.yaml:5:5: warning: unknown key 'rope_theta' in model_config "
            "(the key is ignored)\n");
}

TEST(ModelMessagesTest, UnknownKeyIsAWarningWithANearName) {
  EXPECT_EQ(
      getMessages("qkv_has_bas: True"),
      "train.yaml:5:5: warning: unknown key 'qkv_has_bas' in "
      "model_config; did you mean 'qkv_has_bias'? (the key is ignored)\n");
}

TEST(ModelMessagesTest, MisspeltSizeIsAnErrorIfItsRightNameIsMissing) {
  EXPECT_EQ(getMessages("hiden_size: 128"),
            "train.yaml:5:5: error: unknown key 'hiden_size' in model_config; "
            "write 'hidden_size', which is missing and would have its default "
            "otherwise\n");
}

TEST(ModelMessagesTest, DropoutIsAWarningUnlessItIsZero) {
  EXPECT_EQ(getMessages("emb_dropout_prob: 0.1"),
            "train.yaml:5:5: warning: 'emb_dropout_prob' in model_config "
            "changes the training step, but is not modelled; it is ignored\n");
  EXPECT_EQ(getMessages("emb_dropout_prob: 0."), "");
}

TEST(ModelMessagesTest, DropoutHasTheKeysOfItsClass) {
  const char *telechat = "TelechatForCausalLM";
  const DropoutSpec newer =
      readModelConfig("hidden_dropout_prob: 0.1\nattention_dropout_prob: 0.2\n"
                      "embed_dropout_prob: 3.e-1",
                      telechat)
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
  for (const char *rate : {"1.0", "-0.1", "1e300", "much"})
    EXPECT_NE(getMessages((llvm::Twine("hidden_dropout_prob: ") + rate).str(),
                          "TelechatForCausalLM")
                  .find("expected a number from 0 to below 1 for "
                        "'hidden_dropout_prob', but got "),
              std::string::npos)
        << rate;
}

TEST(ModelMessagesTest, FlashAttentionDropsProbabilities) {
  const char *telechat = "TelechatForCausalLM";
  EXPECT_EQ(readModelConfig("use_flash_attention: True\n"
                            "attention_dropout_prob: 0.1",
                            telechat)
                .dropout.attention,
            0.1);
  EXPECT_EQ(readModelConfig("attention_dropout: 0.1", "Qwen3ForCausalLM")
                .dropout.attention,
            0.1);
  // Release 1.1 ignores it itself.
  EXPECT_EQ(getMessages("use_flash_attention: True\n"
                        "ffn_dim_multiplier: 128\nattention_dropout_prob: 0.1\n"
                        "embed_dropout_prob: 0.1\nhidden_dropout_prob: 0.1",
                        telechat),
            "train.yaml:8:25: warning: 'embed_dropout_prob' in model_config "
            "has no effect on the layers of release 1.1\n"
            "train.yaml:7:29: warning: 'attention_dropout_prob' in "
            "model_config has no effect on the flash attention of release "
            "1.1\n");
}

TEST(ModelMessagesTest, TelechatTablesAndBiasesFollowTheirKeys) {
  const char *arch = "TelechatForCausalLM";
  EXPECT_TRUE(readModelConfig("", arch).attentionOutputBias);
  for (const char *key : {"out_proj_has_bias: False", "wo_has_bias: False"})
    EXPECT_FALSE(readModelConfig(key, arch).attentionOutputBias) << key;
  EXPECT_EQ(getMessages("out_proj_has_bias: False\nembedding_size: 1\n"
                        "net_name: telechat3_36b",
                        arch),
            "");
  EXPECT_EQ(getMessages("embedding_size: 512", arch),
            "train.yaml:5:21: warning: a table of 512 elements per token "
            "('embedding_size'), which two linear layers map to hidden_size "
            "and back, is not modelled; the table has hidden_size\n");
  EXPECT_EQ(getMessages("eod_reset: True", arch), "");
  EXPECT_EQ(getMessages("eod_reset: True"),
            "train.yaml:5:5: warning: 'eod_reset' in model_config keeps "
            "attention within the document that a token is in, but is not "
            "modelled; it is ignored\n");
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
  EXPECT_EQ(spec.family, ModelFamily::InternLm2);
  EXPECT_EQ(getParameterCount(spec), 7737708544);
  EXPECT_EQ(spec.projections, ProjectionLayout::QueryKeyValue);
  EXPECT_FALSE(spec.concatenatesFeedForward);
  EXPECT_EQ(spec.rotary.base, 1e6);
  EXPECT_EQ(spec.padTokenId, 2);
  EXPECT_EQ(spec.headCut, VocabularyCut::None);
  ModelSpec cut =
      readModelConfig("", arch, "parallel_config: {vocab_emb_dp: False}\n");
  EXPECT_EQ(cut.headCut, VocabularyCut::All);
  EXPECT_EQ(cut.tableCut, VocabularyCut::ContextAndModel);
  EXPECT_EQ(readModelConfig("param_init_type: float32", arch).headType,
            DType::F16);
  EXPECT_EQ(readModelConfig("qkv_concat: False", arch).projections,
            ProjectionLayout::Separate);
  EXPECT_EQ(getMessages("has_bias: True", arch),
            "train.yaml:5:15: warning: 'has_bias' in model_config has no "
            "effect here: InternLM2's attention has no biases\n");
}

TEST(ModelMessagesTest, RecomputeKeysOfGlmLayersHaveNoEffect) {
  const char *arch = "ChatGLM2ForConditionalGeneration";
  EXPECT_EQ(getMessages("no_recompute_layers: []", arch), "");
  EXPECT_EQ(getMessages("no_recompute_layers: [20]", arch),
            "train.yaml:5:26: warning: 'no_recompute_layers' in model_config "
            "has no effect since release 1.2: recompute_config alone says what "
            "is recomputed\n");
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

TEST(ModelMessagesTest, UnknownClassesOfConfigurationsAreWarnings) {
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
  EXPECT_EQ(read(qwen + "qwem3"),
            "train.yaml:1:69: warning: unknown model_type 'qwem3'; did you "
            "mean 'qwen3'? (missing keys have the defaults of "
            "'Qwen3ForCausalLM'; MindSpore Transformers fails unless a "
            "configuration class is registered by this name)\n");
  // A class of the user's own.
  EXPECT_EQ(read(qwen + "own, auto_register: own.OwnConfig"), "");

  DiagnosticList reading, diagnostics;
  const TrainingConfig config =
      parseTrainingConfig("model:\n  arch: {type: LlamaForCausalLM}\n"
                          "  model_config: {type: LamaConfig}\n",
                          "train.yaml", reading);
  EXPECT_TRUE(readModelSpec(config, {}, diagnostics));
  EXPECT_EQ(diagnostics.str(),
            "train.yaml:3:24: warning: unknown type 'LamaConfig'; did you mean "
            "'LlamaConfig'? (missing keys have the defaults of "
            "'LlamaForCausalLM'; MindSpore Transformers fails unless a "
            "configuration class is registered by this name)\n");
}

TEST(ModelMessagesTest, BadOverridesAreErrors) {
  EXPECT_EQ(getMessages("", "LlamaForCausalLM", {0, std::nullopt, -1}),
            "error: expected at least 1 for --num-layers, but got 0\n"
            "error: expected at least 1 for --batch-size, but got -1\n");
}

TEST(ModelMessagesTest, MissingModelIsAnError) {
  DiagnosticList diagnostics;
  TrainingConfig config =
      parseTrainingConfig("seed: 0\n", "train.yaml", diagnostics);
  EXPECT_FALSE(readModelSpec(config, {}, diagnostics).has_value());
  EXPECT_EQ(diagnostics.str(),
            "train.yaml:1:1: error: expected model.model_config, or model in "
            "the dynamic graph's YAML, a map that describes the model\n");
}
