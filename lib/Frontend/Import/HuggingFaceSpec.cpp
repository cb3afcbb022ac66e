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
  spec.numHeads = reader.readSize(keys::numHeads, std::nullopt);
  spec.numKeyValueHeads =
      reader.readSize(keys::numKeyValueHeads, spec.numHeads);
  std::optional<int64_t> headSize = reader.readOptionalSize(keys::headSize);
  spec.headSize = headSize.value_or(spec.hiddenSize / spec.numHeads);
  if (!headSize && spec.hiddenSize % spec.numHeads != 0) {
    reader.error(keys::numHeads, "expected {key} to divide "
                                 "hidden_size " +
                                     llvm::Twine(spec.hiddenSize) +
                                     ", but got " + llvm::Twine(spec.numHeads));
    spec.headSize = 2;
  }
}

static void readTorchTypes(SpecReader &reader, ModelSpec &spec) {
  spec.computeType = reader.readType(keys::computeType, DType::F32);
  spec.residualType = spec.computeType;
  spec.paramType = DType::F32;
  spec.embeddingType = DType::F32;
}

/// Llama, Mistral and Qwen2: MindSpore Transformers' Llama.
static void readHuggingFaceLlama(SpecReader &reader, ModelSpec &spec) {
  spec.family = ModelFamily::Llama;
  bool hasBias = reader.readBool(keys::queryKeyValueBias, false);
  spec.queryKeyValueBias = hasBias;
  spec.attentionOutputBias = hasBias;
  if (reader.readBool(keys::linearBias, false))
    reader.error(keys::linearBias, "expected false for {key}: a bias in the "
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
  spec.queryKeyValueBias = reader.readBool(keys::queryKeyValueBias, false);
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
  keys::Naming naming = keys::HuggingFace;
};
} // namespace

static constexpr ModelType modelTypes[] = {
    {"llama", readHuggingFaceLlama},
    {"mistral", readHuggingFaceLlama},
    {"qwen2", readHuggingFaceQwen2},
    {"qwen3", readHuggingFaceQwen3},
    {"mixtral", readMixtral, /*hasHeads=*/true, keys::HuggingFaceMixtral},
    {"qwen2_moe", readQwen2Moe},
    {"qwen3_moe", readQwen3Moe},
    {"deepseek_v2", readHuggingFaceDeepSeek2, /*hasHeads=*/false,
     keys::HuggingFaceDeepSeek},
    {"deepseek_v3", readHuggingFaceDeepSeek3, /*hasHeads=*/false,
     keys::HuggingFaceDeepSeek},
};

static const ModelType *readModelType(SpecReader &reader) {
  Node type = reader.find(keys::modelType);
  if (!type.isString()) {
    reader.error(keys::modelType, "expected a string for {key}");
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
  double theta = reader.readPositive(keys::rotaryBase, 10000.0);
  if (Node parameters = reader.find({"rope_parameters"}); parameters.isMap()) {
    SpecReader inner(parameters, "rope_parameters", reader.diagnostics,
                     reader.naming);
    theta = inner.readPositive(keys::rotaryBase, theta);
  }
  spec.rotary.base = theta;
}

/// Reads the keys that all models share.
static void readCommon(SpecReader &reader, bool hasHeads, ModelSpec &spec) {
  constexpr int64_t longestDefault = 4096;
  spec.vocabSize = reader.readSize(keys::vocabSize, std::nullopt);
  spec.hiddenSize = reader.readSize(keys::hiddenSize, std::nullopt);
  spec.numLayers = reader.readSize(keys::numLayers, std::nullopt);
  spec.feedForwardSize = reader.readSize(keys::feedForwardSize, std::nullopt);
  spec.sequenceLength = std::min(
      reader.readSize(keys::maxPositions, longestDefault), longestDefault);
  readRopeTheta(reader, spec);
  if (hasHeads) {
    readHeads(reader, spec);
    spec.rotary.size = spec.headSize;
    readRopeScaling(reader, spec);
  }
  spec.padTokenId = reader.readInt(keys::padTokenId, -1);
  spec.normEpsilon = reader.readPositive(keys::normEpsilon, 1e-6);
  spec.initializerRange = reader.readPositive(keys::initializerRange, 0.02);
  spec.tiesWordEmbeddings = reader.readBool(keys::tieWordEmbeddings, false);
  spec.usesFlashAttention = true;
  readTorchTypes(reader, spec);
  std::string activation = reader.readString(keys::activation, "silu");
  if (activation != "silu")
    reader.error(keys::activation,
                 "expected silu for {key}, but got " + quote(activation));
}

/// Attention is lowered for all tokens. Emits a warning for a window that would
/// mask some.
static void checkWindow(SpecReader &reader, const ModelSpec &spec) {
  std::optional<int64_t> window = reader.readOptionalSize(keys::slidingWindow);
  if (window && *window < spec.sequenceLength &&
      reader.readBool(keys::useSlidingWindow, true))
    reader.warn(keys::slidingWindow,
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
  SpecReader reader(root, "the configuration", diagnostics, keys::HuggingFace);
  const ModelType *type = readModelType(reader);
  if (!type)
    return std::nullopt;
  reader.naming = type->naming;

  ModelSpec spec;
  spec.name = type->name.str();
  readCommon(reader, type->hasHeads, spec);
  type->read(reader, spec);
  if (type->hasHeads) {
    rejectLatentAttention(root, diagnostics);
    checkHeads(reader, spec, keys::numHeads, keys::numKeyValueHeads);
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
