//===- ModelSpecTest.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ReadModel.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "mf/Frontend/Import/ModelReader.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cmath>

using namespace mf;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

TEST(ModelSpecTest, FeedForwardSizeThatOverflowsIsNone) {
  EXPECT_EQ(computeFeedForwardSize(8192, 256, 1e300), std::nullopt);
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

//===----------------------------------------------------------------------===//
// Published and shipped files
//===----------------------------------------------------------------------===//

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
