//===- HuggingFaceSpec.cpp - config.json of a Hugging Face model ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExpertReader.h"
#include "FamilyReaders.h"
#include "HuggingFaceExperts.h"
#include "SpecLimits.h"
#include "mf/Support/NearestName.h"
#include "llvm/ADT/StringExtras.h"

namespace mf {

static void readHeads(SpecReader &reader, ModelSpec &spec) {
  spec.numHeads = reader.readSize({"num_attention_heads"}, std::nullopt);
  spec.numKeyValueHeads =
      reader.readSize({"num_key_value_heads"}, spec.numHeads);
  std::optional<int64_t> headSize = reader.readOptionalSize({"head_dim"});
  spec.headSize = headSize.value_or(spec.hiddenSize / spec.numHeads);
  if (!headSize && spec.hiddenSize % spec.numHeads != 0) {
    reader.error({"num_attention_heads"},
                 "expected 'num_attention_heads' to divide "
                 "hidden_size " +
                     llvm::Twine(spec.hiddenSize) + ", but got " +
                     llvm::Twine(spec.numHeads));
    spec.headSize = 2;
  }
}

static void readTorchTypes(SpecReader &reader, ModelSpec &spec) {
  spec.computeType = reader.readType({"torch_dtype", "dtype"}, DType::F32);
  spec.residualType = spec.computeType;
  spec.paramType = DType::F32;
  spec.embeddingType = DType::F32;
}

/// Llama, Mistral and Qwen2: MindSpore Transformers' Llama.
static void readHuggingFaceLlama(SpecReader &reader, ModelSpec &spec) {
  spec.family = ModelFamily::Llama;
  bool hasBias = reader.readBool({"attention_bias"}, false);
  spec.queryKeyValueBias = hasBias;
  spec.attentionOutputBias = hasBias;
  if (reader.readBool({"mlp_bias"}, false))
    reader.error({"mlp_bias"}, "expected false for 'mlp_bias': a bias in the "
                               "feed forward is not supported");
}

static void readHuggingFaceQwen2(SpecReader & /*reader*/, ModelSpec &spec) {
  spec.family = ModelFamily::Llama;
  spec.queryKeyValueBias = true;
}

static void readHuggingFaceQwen3(SpecReader &reader, ModelSpec &spec) {
  spec.family = ModelFamily::Mcore;
  spec.projections = ProjectionLayout::QueryKeyValue;
  spec.concatenatesFeedForward = true;
  spec.normalizesQueryKey = true;
  spec.queryKeyValueBias = reader.readBool({"attention_bias"}, false);
}

static void readMixtral(SpecReader &reader, ModelSpec &spec) {
  readHuggingFaceLlama(reader, spec);
  readMixtralExperts(reader, spec);
}

static void readQwen2Moe(SpecReader &reader, ModelSpec &spec) {
  readHuggingFaceQwen2(reader, spec);
  readQwen2Experts(reader, spec);
}

static void readQwen3Moe(SpecReader &reader, ModelSpec &spec) {
  readHuggingFaceQwen3(reader, spec);
  readQwenExperts(reader, spec);
}

namespace {
struct ModelType {
  llvm::StringLiteral name;
  FamilyReader read;
  /// Attention with queries, keys and values of heads, not latent.
  bool hasHeads = true;
};
} // namespace

static constexpr ModelType modelTypes[] = {
    {"llama", readHuggingFaceLlama},
    {"mistral", readHuggingFaceLlama},
    {"qwen2", readHuggingFaceQwen2},
    {"qwen3", readHuggingFaceQwen3},
    {"mixtral", readMixtral},
    {"qwen2_moe", readQwen2Moe},
    {"qwen3_moe", readQwen3Moe},
    {"deepseek_v2", readHuggingFaceDeepSeek2, /*hasHeads=*/false},
    {"deepseek_v3", readHuggingFaceDeepSeek3, /*hasHeads=*/false},
};

static const ModelType *readModelType(SpecReader &reader) {
  Node type = reader.find({"model_type"});
  if (!type.isString()) {
    reader.error({"model_type"}, "expected a string for 'model_type'");
    return nullptr;
  }
  llvm::SmallVector<llvm::StringRef> names;
  for (const ModelType &known : modelTypes) {
    if (type.getText() == known.name)
      return &known;
    names.push_back(known.name);
  }
  reader.diagnostics
      .error(type.getLocation(), "unknown model_type " + quote(type.getText()) +
                                     suggestName(type.getText(), names))
      .attachNote("supported are " + llvm::join(names, ", "));
  return nullptr;
}

/// Newer files have rope_theta in rope_parameters.
static void readRopeTheta(SpecReader &reader, ModelSpec &spec) {
  double theta = reader.readPositive({"rope_theta"}, 10000.0);
  if (Node parameters = reader.find({"rope_parameters"}); parameters.isMap()) {
    SpecReader inner(parameters, "rope_parameters", reader.diagnostics);
    theta = inner.readPositive({"rope_theta"}, theta);
  }
  spec.rotary.base = theta;
}

/// Reads the keys that all models share.
static void readCommon(SpecReader &reader, bool hasHeads, ModelSpec &spec) {
  constexpr int64_t longestDefault = 4096;
  spec.vocabSize = reader.readSize({"vocab_size"}, std::nullopt);
  spec.hiddenSize = reader.readSize({"hidden_size"}, std::nullopt);
  spec.numLayers = reader.readSize({"num_hidden_layers"}, std::nullopt);
  spec.feedForwardSize = reader.readSize({"intermediate_size"}, std::nullopt);
  spec.sequenceLength =
      std::min(reader.readSize({"max_position_embeddings"}, longestDefault),
               longestDefault);
  readRopeTheta(reader, spec);
  if (hasHeads) {
    readHeads(reader, spec);
    spec.rotary.size = spec.headSize;
    readRopeScaling(reader, spec);
  }
  spec.padTokenId = reader.readInt({"pad_token_id"}, -1);
  spec.normEpsilon = reader.readPositive({"rms_norm_eps"}, 1e-6);
  spec.initializerRange = reader.readPositive({"initializer_range"}, 0.02);
  spec.tiesWordEmbeddings = reader.readBool({"tie_word_embeddings"}, false);
  spec.usesFlashAttention = true;
  readTorchTypes(reader, spec);
  std::string activation = reader.readString({"hidden_act"}, "silu");
  if (activation != "silu")
    reader.error({"hidden_act"}, "expected silu for 'hidden_act', but got " +
                                     quote(activation));
}

/// Attention is lowered for all tokens. Emits a warning for a window that would
/// mask some.
static void checkWindow(SpecReader &reader, const ModelSpec &spec) {
  std::optional<int64_t> window = reader.readOptionalSize({"sliding_window"});
  if (window && *window < spec.sequenceLength &&
      reader.readBool({"use_sliding_window"}, true))
    reader.warn({"sliding_window"},
                "a sliding window of " + llvm::Twine(*window) +
                    " tokens is not modelled; attention sees "
                    "all " +
                    llvm::Twine(spec.sequenceLength));
}

std::optional<ModelSpec> readHuggingFaceSpec(const Node &root,
                                             const ModelOverrides &overrides,
                                             DiagnosticList &diagnostics) {
  size_t errors = diagnostics.getErrorCount();
  if (!root.isMap()) {
    diagnostics.error(root.getLocation(),
                      "expected a map, but got " + describe(root.getKind()));
    return std::nullopt;
  }
  SpecReader reader(root, "the configuration", diagnostics);
  const ModelType *type = readModelType(reader);
  if (!type)
    return std::nullopt;

  ModelSpec spec;
  spec.name = type->name.str();
  readCommon(reader, type->hasHeads, spec);
  type->read(reader, spec);
  if (type->hasHeads) {
    rejectLatentAttention(root, diagnostics);
    checkHeads(reader, spec, {"num_attention_heads"}, {"num_key_value_heads"});
  }
  if (!spec.experts)
    rejectExperts(root, "with a model_type that has them, such as mixtral",
                  diagnostics);
  applyOverrides(overrides, spec, diagnostics);
  resolveExpertSizes(TrainingConfig(), overrides, spec, diagnostics);
  checkWindow(reader, spec);
  if (diagnostics.getErrorCount() == errors)
    checkLimits(reader, spec);
  if (diagnostics.getErrorCount() != errors)
    return std::nullopt;
  return spec;
}

} // namespace mf
