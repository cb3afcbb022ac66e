//===- ModelSpecTest.cpp --------------------------------------------------===//

#include "ReadModel.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cmath>

using namespace mf;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

TEST(ModelSpecTest, FeedForwardSizeOfKnownModels) {
  EXPECT_EQ(computeFeedForwardSize(4096, 256, std::nullopt), 11008);
  EXPECT_EQ(computeFeedForwardSize(5120, 256, std::nullopt), 13824);
  EXPECT_EQ(computeFeedForwardSize(5120, 128, std::nullopt), 13696);
  EXPECT_EQ(computeFeedForwardSize(8192, 256, 1.3), 28672);
  EXPECT_EQ(computeFeedForwardSize(4096, 1024, 1.3), 14336);
  EXPECT_EQ(computeFeedForwardSize(8192, 256, std::nullopt), 22016);
}

TEST(ModelSpecTest, FeedForwardSizeThatOverflowsIsNone) {
  EXPECT_EQ(computeFeedForwardSize(8192, 256, 1e300), std::nullopt);
}

TEST(ModelSpecTest, ParameterCountsOfPublishedModels) {
  struct Case {
    const char *path;
    int64_t count;
  };
  for (const Case &model :
       {Case{"yamls/pretrain_llama2_7b_bf16.yaml", 6738415616},
        Case{"yamls/finetune_llama2_70b_bf16_32p.yaml", 68976648192},
        Case{"yamls/finetune_qwen2_5_14b_8k.yaml", 14770033664},
        Case{"yamls/finetune_llama3_1_70b.yaml", 70553706496},
        Case{"yamls/pretrain_qwen3_32b_4k.yaml", 32762123264},
        Case{"yamls/finetune_qwen2_72b_32k.yaml", 72706203648}})
    EXPECT_EQ(getParameterCount(readModel(model.path)), model.count)
        << model.path;
}

/// Biases and norms, which the published counts of matrix elements leave out.
static int64_t countVectors(const ModelSpec &spec) {
  int64_t perLayer = 2 * spec.hiddenSize;
  if (spec.queryKeyValueBias)
    perLayer += spec.getQuerySize() + 2 * spec.getKeyValueSize();
  if (spec.attentionOutputBias)
    perLayer += spec.hiddenSize;
  if (spec.feedForwardOutputBias)
    perLayer += spec.hiddenSize;
  return spec.numLayers * perLayer + spec.hiddenSize;
}

TEST(ModelSpecTest, SizesOfEveryDenseModelWithPublishedThroughput) {
  auto buffer = llvm::MemoryBuffer::getFile(
      MF_TEST_DATA "/mindformers/ascend_throughput.json");
  ASSERT_TRUE(bool(buffer));
  llvm::Expected<llvm::json::Value> rows =
      llvm::json::parse((*buffer)->getBuffer());
  ASSERT_TRUE(bool(rows));
  unsigned checked = 0;
  for (const llvm::json::Value &row : *rows->getAsArray()) {
    const llvm::json::Object &expected =
        *row.getAsObject()->getObject("architecture");
    if (expected.getObject("moe"))
      continue;
    std::string file =
        row.getAsObject()->getObject("yaml")->getString("file")->str();
    SCOPED_TRACE(file);
    ModelSpec spec = readModel(file);
    EXPECT_EQ(spec.numLayers, expected.getInteger("num_layers"));
    EXPECT_EQ(spec.hiddenSize, expected.getInteger("hidden_size"));
    EXPECT_EQ(spec.numHeads, expected.getInteger("num_heads"));
    EXPECT_EQ(spec.numKeyValueHeads, expected.getInteger("kv_heads"));
    EXPECT_EQ(spec.headSize, expected.getInteger("head_dim"));
    EXPECT_EQ(spec.feedForwardSize, expected.getInteger("intermediate_size"));
    EXPECT_EQ(spec.vocabSize, expected.getInteger("vocab_size"));
    EXPECT_EQ(spec.sequenceLength, expected.getInteger("seq_length"));
    int64_t weights = *getParameterCount(spec) - countVectors(spec);
    // The rows count a head's own weight for each of these models; that of
    // TeleChat 7B is the embedding's table, as its class has it.
    if (spec.name == "telechat_7b") {
      EXPECT_TRUE(spec.tiesWordEmbeddings);
      weights += spec.vocabSize * spec.hiddenSize;
    }
    EXPECT_EQ(weights, expected.getInteger("n_params_total"));
    ++checked;
  }
  EXPECT_GE(checked, 25u);
}

//===----------------------------------------------------------------------===//
// Defaults and keys
//===----------------------------------------------------------------------===//

TEST(ModelSpecTest, DefaultsOfLlamaConfig) {
  ModelSpec spec = readModelConfig("");
  EXPECT_EQ(spec.sequenceLength, 2048);
  EXPECT_EQ(spec.hiddenSize, 4096);
  EXPECT_EQ(spec.numLayers, 32);
  EXPECT_EQ(spec.numKeyValueHeads, 32);
  EXPECT_EQ(spec.headSize, 128);
  EXPECT_EQ(spec.feedForwardSize, 11008);
  EXPECT_EQ(spec.computeType, DType::F16);
  EXPECT_EQ(spec.paramType, DType::F16);
  EXPECT_EQ(spec.embeddingType, DType::F16);
  EXPECT_EQ(spec.residualType, DType::F16);
  EXPECT_EQ(spec.normType, DType::F32);
  EXPECT_EQ(spec.softmaxType, DType::F32);
  EXPECT_FALSE(spec.usesFlashAttention);
  EXPECT_FALSE(spec.tiesWordEmbeddings);
  EXPECT_EQ(spec.padTokenId, 0);
  EXPECT_EQ(spec.ignoreTokenId, -100);
  EXPECT_EQ(spec.name, "llama");
}

TEST(ModelSpecTest, EmbeddingAndResidualTypesFollowTheOthers) {
  ModelSpec spec = readModelConfig("param_init_type: float32\n"
                                   "compute_dtype: bfloat16\n");
  EXPECT_EQ(spec.embeddingType, DType::F32);
  EXPECT_EQ(spec.residualType, DType::BF16);
}

TEST(ModelSpecTest, Gpt2AndSparkHaveAsManyParametersAsPublished) {
  EXPECT_EQ(getParameterCount(readModelConfig("", "GPT2LMHeadModel")),
            124439808);
  EXPECT_EQ(getParameterCount(readModelConfig(
                "hidden_size: 1600\nnum_layers: 48\nnum_heads: 25\n",
                "GPT2LMHeadModel")),
            1557611200);
  EXPECT_EQ(
      getParameterCount(readModelConfig("", "IFlytekSparkModelForCasualLM")),
      13312542720);
}

TEST(ModelSpecTest, TheFirstGlmHasAHeadOfItsOwn) {
  ModelSpec spec = readModelConfig("", "GLMForPreTraining");
  // Published are those of the model with a tied head.
  EXPECT_EQ(*getParameterCount(spec) - spec.vocabSize * spec.hiddenSize,
            6173286400);
  EXPECT_EQ(spec.prefixEnd, 130004);
  EXPECT_EQ(spec.rotary.size, 64);
  EXPECT_DOUBLE_EQ(spec.residualScale, std::sqrt(56.0));
}

TEST(ModelSpecTest, Gpt2DropsATenthUnlessToldOtherwise) {
  ModelSpec spec = readModelConfig("hidden_dropout_rate: 0.2\n"
                                   "use_flash_attention: False\n",
                                   "GPT2LMHeadModel");
  EXPECT_EQ(spec.dropout.embedding, 0.1);
  EXPECT_EQ(spec.dropout.hidden, 0.2);
  EXPECT_EQ(spec.dropout.attention, 0.1);
  EXPECT_EQ(spec.embeddingType, DType::F32);
  EXPECT_EQ(spec.computeType, DType::F16);
}

TEST(ModelSpecTest, ConcatenationCoversBothHalvesOfALayer) {
  ModelSpec spec = readModelConfig("qkv_concat: True");
  EXPECT_EQ(spec.projections, ProjectionLayout::QueryKeyValue);
  EXPECT_TRUE(spec.concatenatesFeedForward);
}

TEST(ModelSpecTest, PositionInterpolationScalesPositions) {
  ModelSpec spec = readModelConfig("extend_method: PI\nscaling_factor: 4\n");
  EXPECT_EQ(spec.rotary.positionScale, 0.25);
  EXPECT_EQ(spec.rotary.base, 10000.0);
}

TEST(ModelSpecTest, NtkScalesTheBase) {
  ModelSpec spec = readModelConfig("extend_method: NTK\nscaling_factor: 4.0\n");
  EXPECT_EQ(spec.rotary.positionScale, 1.0);
  EXPECT_EQ(spec.rotary.base, 40000.0);
}

TEST(ModelSpecTest, TextOfANumberCountsAsOne) {
  EXPECT_EQ(readModelConfig("rms_norm_eps: '1e-5'").normEpsilon, 1e-5);
}

TEST(ModelSpecTest, BatchIsTheRunnersAndNotTheModels) {
  ModelSpec spec =
      readModel("throughput_yamls/finetune_internlm_7b@5228744b.yaml");
  // Two of each of 8 replicas.
  EXPECT_EQ(spec.microBatchSize, 16);
  EXPECT_TRUE(spec.queryKeyValueBias);
  EXPECT_TRUE(spec.attentionOutputBias);
}

TEST(ModelSpecTest, OverridesReplaceSizes) {
  ModelSpec spec = readModel("yamls/pretrain_llama2_7b_bf16.yaml", {2, 128, 4});
  EXPECT_EQ(spec.numLayers, 2);
  EXPECT_EQ(spec.sequenceLength, 128);
  EXPECT_EQ(spec.microBatchSize, 32);
  EXPECT_EQ(spec.name, "llama2_7b");
}

TEST(ModelSpecTest, ChatGlmRotatesPairsOfHalfAHead) {
  ModelSpec spec = readModel("throughput_yamls/finetune_glm32k@89abc244.yaml");
  EXPECT_EQ(spec.family, ModelFamily::ChatGlm);
  EXPECT_EQ(spec.rotary.size, 64);
  EXPECT_TRUE(spec.rotary.rotatesPairs);
  EXPECT_EQ(spec.rotary.base, 500000.0);
  EXPECT_EQ(spec.normEpsilon, 1e-5);
  EXPECT_EQ(spec.numKeyValueHeads, 2);
}

TEST(ModelSpecTest, Qwen3KeepsItsResidualStreamInFp32) {
  ModelSpec spec = readModel("yamls/pretrain_qwen3_32b_4k.yaml");
  EXPECT_EQ(spec.family, ModelFamily::Mcore);
  EXPECT_EQ(spec.residualType, DType::F32);
  EXPECT_EQ(spec.getQuerySize(), 8192);
  EXPECT_TRUE(spec.normalizesQueryKey);
}

//===----------------------------------------------------------------------===//
// Errors and warnings
//===----------------------------------------------------------------------===//

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

TEST(ModelSpecTest, HeadsThatDoNotDivideAreErrors) {
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

TEST(ModelSpecTest, WrongValuesAreErrors) {
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

TEST(ModelSpecTest, HugeSizesAreErrors) {
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
TEST(ModelSpecTest, TelechatMultiplierIsTheWidthInRelease11) {
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

TEST(ModelSpecTest, TelechatHeadsAreTiedByNameAndRelease) {
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

TEST(ModelSpecTest, UnknownArchitectureIsAnErrorWithANearName) {
  std::string messages = getMessages("", "LlamaForCausalLLM");
  EXPECT_EQ(messages.substr(0, messages.find('\n')),
            "train.yaml:2:16: error: unknown architecture 'LlamaForCausalLLM'; "
            "did you mean 'LlamaForCausalLM'?");
}

TEST(ModelSpecTest, ExpertsElsewhereAndLatentAttentionAreErrors) {
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

TEST(ModelSpecTest, AdaptersOfServingAreErrors) {
  EXPECT_EQ(getMessages("pet_config:\n  pet_type: slora\n"),
            "train.yaml:6:17: error: adapters of pet_type 'slora' are not "
            "supported\n"
            "note: supported are lora, prefixtuning and ptuning2; remove the "
            "section to train all "
            "parameters\n");
}

TEST(ModelSpecTest, UnknownKeyIsAWarningWithANearName) {
  EXPECT_EQ(getMessages("hiden_size: 128"),
            "train.yaml:5:5: warning: unknown key 'hiden_size' in "
            "model_config; did you mean 'hidden_size'? (the key is ignored)\n");
}

TEST(ModelSpecTest, DropoutIsAWarningUnlessItIsZero) {
  EXPECT_EQ(getMessages("emb_dropout_prob: 0.1"),
            "train.yaml:5:5: warning: 'emb_dropout_prob' in model_config "
            "changes the training step, but is not modelled; it is ignored\n");
  EXPECT_EQ(getMessages("emb_dropout_prob: 0."), "");
}

TEST(ModelSpecTest, DropoutHasTheKeysOfItsClass) {
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

TEST(ModelSpecTest, RatesOfDropoutAreSharesBelowOne) {
  for (const char *rate : {"1.0", "-0.1", "1e300", "much"})
    EXPECT_NE(getMessages((llvm::Twine("hidden_dropout_prob: ") + rate).str(),
                          "TelechatForCausalLM")
                  .find("expected a number from 0 to below 1 for "
                        "'hidden_dropout_prob', but got "),
              std::string::npos)
        << rate;
}

TEST(ModelSpecTest, FlashAttentionDropsProbabilities) {
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

TEST(ModelSpecTest, TelechatTablesAndBiasesFollowTheirKeys) {
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

TEST(ModelSpecTest, DocumentsEndWithTheTokenThatEndsASequence) {
  const auto getEnd = [](const char *keys) {
    return readModelConfig(keys, "TelechatForCausalLM").documentEnd;
  };
  EXPECT_EQ(getEnd("eos_token_id: 5"), std::nullopt);
  EXPECT_EQ(getEnd("eod_reset: False"), std::nullopt);
  EXPECT_EQ(getEnd("eod_reset: True"), 2);
  EXPECT_EQ(getEnd("eod_reset: True\neos_token_id: 5"), 5);
  EXPECT_EQ(getEnd("eod_reset: True\neos_token_id: 5\neod_token_id: 6"), 6);
}

TEST(ModelSpecTest, InternLm2IsLlamaWithOneWeightForAttention) {
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

TEST(ModelSpecTest, RecomputeKeysOfGlmLayersHaveNoEffect) {
  const char *arch = "ChatGLM2ForConditionalGeneration";
  EXPECT_EQ(getMessages("no_recompute_layers: []", arch), "");
  EXPECT_EQ(getMessages("no_recompute_layers: [20]", arch),
            "train.yaml:5:26: warning: 'no_recompute_layers' in model_config "
            "has no effect since release 1.2: recompute_config alone says what "
            "is recomputed\n");
}

TEST(ModelSpecTest, Telechat3MoeIsTheMcoreGraphWithLatentAttention) {
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

TEST(ModelSpecTest, BadOverridesAreErrors) {
  EXPECT_EQ(getMessages("", "LlamaForCausalLM", {0, std::nullopt, -1}),
            "error: expected at least 1 for --num-layers, but got 0\n"
            "error: expected at least 1 for --batch-size, but got -1\n");
}

TEST(ModelSpecTest, MissingModelIsAnError) {
  DiagnosticList diagnostics;
  TrainingConfig config =
      parseTrainingConfig("seed: 0\n", "train.yaml", diagnostics);
  EXPECT_FALSE(readModelSpec(config, {}, diagnostics).has_value());
  EXPECT_EQ(diagnostics.str(),
            "train.yaml:1:1: error: expected model.model_config, a map that "
            "describes the model\n");
}

//===----------------------------------------------------------------------===//
// Published and shipped files
//===----------------------------------------------------------------------===//

TEST(ModelSpecTest, EveryPublishedYamlImports) {
  unsigned imported = 0;
  for (const char *folder :
       {"/mindformers/yamls", "/mindformers/throughput_yamls"}) {
    std::error_code error;
    for (llvm::sys::fs::directory_iterator
             file(llvm::Twine(MF_TEST_DATA) + folder, error),
         end;
         file != end && !error; file.increment(error)) {
      DiagnosticList diagnostics;
      TrainingConfig config =
          parseTrainingConfigFile(file->path(), diagnostics);
      EXPECT_TRUE(readModelSpec(config, {}, diagnostics).has_value())
          << file->path() << "\n"
          << diagnostics.str();
      EXPECT_FALSE(diagnostics.hasErrors());
      ++imported;
    }
  }
  EXPECT_EQ(imported, 38u);
}

TEST(ModelSpecTest, NoUnknownKeysInPublishedYamls) {
  for (const char *path :
       {"yamls/finetune_llama3_1_70b.yaml", "yamls/pretrain_qwen3_32b_4k.yaml",
        "yamls/pretrain_mixtral-8x7b.yaml", "yamls/pretrain_qwen2_57b.yaml",
        "yamls/pretrain_qwen3_30b_a3b_4k.yaml",
        "yamls/finetune_telechat_115b.yaml",
        "throughput_yamls/finetune_glm32k@89abc244.yaml",
        "throughput_yamls/run_qwen_7b@03d197e3.yaml"}) {
    DiagnosticList diagnostics;
    DiagnosticList reading;
    TrainingConfig config = parseTrainingConfigFile(
        (llvm::Twine(MF_TEST_DATA "/mindformers/") + path).str(), reading);
    readModelSpec(config, {}, diagnostics);
    EXPECT_FALSE(llvm::StringRef(diagnostics.str()).contains("unknown key"))
        << diagnostics.str();
  }
}

/// Files cut short and with single bytes changed give a model or an error.
TEST(ModelSpecTest, DamagedFilesNeverCrash) {
  for (const char *path :
       {"yamls/pretrain_llama2_7b_bf16.yaml",
        "yamls/pretrain_qwen3_32b_4k.yaml",
        "yamls/pretrain_qwen3_30b_a3b_4k.yaml",
        "throughput_yamls/finetune_telechat_39b_a12b@1a7776ab.yaml"}) {
    auto buffer = llvm::MemoryBuffer::getFile(
        (llvm::Twine(MF_TEST_DATA "/mindformers/") + path).str());
    ASSERT_TRUE(bool(buffer));
    std::string text = (*buffer)->getBuffer().str();
    size_t model = text.find("model_config:");
    for (size_t place = model; place < text.size(); place += 31) {
      for (bool cut : {true, false}) {
        std::string damaged = cut ? text.substr(0, place) : text;
        if (!cut)
          damaged[place] = "9-[:'"[place % 5];
        DiagnosticList diagnostics;
        TrainingConfig config =
            parseTrainingConfig(damaged, "damaged.yaml", diagnostics);
        if (diagnostics.hasErrors())
          continue;
        std::optional<ModelSpec> spec = readModelSpec(config, {}, diagnostics);
        EXPECT_EQ(spec.has_value(), !diagnostics.hasErrors());
      }
    }
  }
}
