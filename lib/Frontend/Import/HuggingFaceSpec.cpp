//===- HuggingFaceSpec.cpp - config.json of a Hugging Face model ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExpertReader.h"
#include "FamilyReaders.h"
#include "mf/Frontend/Import/ModelReader.h"
#include "mf/Support/NearestName.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

namespace mf {

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

namespace {

/// Reads the number of experts per token and the total number of experts.
void readChoice(SpecReader &reader, ExpertSpec &experts) {
  experts.numExperts = reader.readSize(keys::numExperts, std::nullopt);
  experts.router.numChosen =
      reader.readSize(keys::expertsPerToken, std::nullopt);
  if (experts.router.numChosen > experts.numExperts)
    reader.error(keys::expertsPerToken,
                 "expected at most the " + llvm::Twine(experts.numExperts) +
                     " of " + quote(reader.nameOf(keys::numExperts)) +
                     " for {key}, but got " +
                     llvm::Twine(experts.router.numChosen));
}

/// Training with these classes adds the losses only on request.
void readLosses(SpecReader &reader) {
  reader.markRead(keys::balanceLossFactor);
  if (reader.readBool(keys::returnsScores, false))
    reader.warn(
        keys::returnsScores,
        "the loss that {key} adds is not modelled; a training YAML has " +
            known::expert::lossTypes.name + " and " +
            known::expert::lossFactors.name);
}

/// Layers with a dense feed forward are the listed ones and those whose number,
/// counted from 1, is not a multiple of the step.
void readSparseLayers(SpecReader &reader, const ModelSpec &spec,
                      ExpertSpec &experts) {
  constexpr int64_t most = 10000;
  const int64_t numLayers = std::min(spec.numLayers, most);
  const int64_t step = reader.readSize(keys::sparseStep, 1);
  std::vector<bool> layers;
  bool isDense = false;
  for (int64_t i = 0; i < numLayers; ++i) {
    layers.push_back((i + 1) % step == 0);
    isDense |= !layers.back();
  }
  Node dense = reader.find(keys::mlpOnlyLayers);
  if (dense && !dense.isList())
    reader.error(keys::mlpOnlyLayers,
                 "expected a list of layers for {key}, but got " +
                     dense.repr(60));
  for (const Node &element : dense.getElements()) {
    std::optional<int64_t> index = element.getInt();
    if (!index || *index < 0 || *index >= spec.numLayers)
      reader.diagnostics.error(element.getLocation(),
                               "expected the number of a layer below " +
                                   reader.nameOf(keys::numLayers) + " " +
                                   llvm::Twine(spec.numLayers) + " in " +
                                   quote(reader.nameOf(keys::mlpOnlyLayers)) +
                                   ", but got " + element.repr(60));
    else if (*index < numLayers) {
      layers[static_cast<size_t>(*index)] = false;
      isDense = true;
    }
  }
  if (isDense)
    experts.layers = std::move(layers);
}

ExpertSpec &addExperts(ModelSpec &spec) {
  ExpertSpec &experts = spec.experts.emplace();
  experts.dropless.emplace();
  experts.initializerRange = spec.initializerRange;
  experts.router.initializerRange = spec.initializerRange;
  return experts;
}

/// The first layers are dense, and those whose index is not a multiple of the
/// frequency.
void readDenseLayers(SpecReader &reader, const ModelSpec &spec,
                     ExpertSpec &experts) {
  constexpr int64_t most = 10000;
  experts.firstLayer = readCount(reader, keys::firstDenseLayers, 0);
  const int64_t frequency = reader.readSize(keys::expertLayerFrequency, 1);
  if (frequency == 1)
    return;
  for (int64_t i = 0; i < std::min(spec.numLayers, most); ++i)
    experts.layers.push_back(i >= experts.firstLayer && i % frequency == 0);
}

/// Tokens choose among the experts of the best groups. The score of a group is
/// the sum of the `numSummed` highest scores of its experts.
void readGroups(SpecReader &reader, int64_t numSummed, ExpertSpec &experts) {
  RoutingGroups groups;
  groups.num = reader.readSize(keys::numExpertGroups, 1);
  groups.numKept = reader.readSize(keys::chosenExpertGroups, groups.num);
  groups.numSummed = numSummed;
  if (experts.numExperts % groups.num != 0 ||
      experts.numExperts / groups.num < numSummed)
    reader.error(keys::numExpertGroups,
                 "expected {key} to divide " + reader.nameOf(keys::numExperts) +
                     " " + llvm::Twine(experts.numExperts) +
                     " into groups of at least " + llvm::Twine(numSummed) +
                     ", but got " + llvm::Twine(groups.num));
  else if (groups.numKept > groups.num)
    reader.error(keys::chosenExpertGroups,
                 "expected at most " + reader.nameOf(keys::numExpertGroups) +
                     " " + llvm::Twine(groups.num) + " for {key}, but got " +
                     llvm::Twine(groups.numKept));
  else if (groups.num > 1)
    experts.router.groups = groups;
}

/// Reads the keys that V2 and V3 share. Returns null if all layers are dense.
ExpertSpec *readDeepSeekExperts(SpecReader &reader, ModelSpec &spec,
                                llvm::StringRef score) {
  if (!reader.find(keys::numExperts))
    return nullptr;
  ExpertSpec &experts = addExperts(spec);
  readChoice(reader, experts);
  experts.width = reader.readSize(keys::expertSize, std::nullopt);
  experts.sharedWidth =
      readCount(reader, keys::numSharedExperts, 0) * experts.width;
  readDenseLayers(reader, spec, experts);
  std::string given = reader.readString(keys::routerScore, score);
  experts.router.score =
      given == "sigmoid" ? RouterScore::Sigmoid : RouterScore::Softmax;
  if (given != "sigmoid" && given != "softmax")
    reader.error(keys::routerScore,
                 "expected softmax or sigmoid for {key}, but got " +
                     quote(given));
  experts.router.epsilon = 1e-20;
  experts.router.scale = reader.readNumber(keys::routedScale).value_or(1.0);
  return &experts;
}

void rejectMethod(SpecReader &reader, llvm::StringRef wanted,
                  llvm::StringRef method) {
  reader.error(keys::routingMethod,
               "expected " + wanted + " for {key}, but got " + quote(method));
}

void normalize(ExpertSpec &experts, bool isWanted) {
  experts.router.normalizes = isWanted && experts.router.numChosen > 1;
}

} // namespace

static void readMixtralExperts(SpecReader &reader, ModelSpec &spec) {
  ExpertSpec &experts = addExperts(spec);
  readChoice(reader, experts);
  experts.width = spec.feedForwardSize;
  normalize(experts, true);
  readLosses(reader);
  if (std::optional<double> noise = reader.readNumber(keys::inputJitter);
      noise.value_or(0.0) != 0.0)
    reader.warn(keys::inputJitter, "{key} is not modelled; it is ignored");
}

static void readQwenExperts(SpecReader &reader, ModelSpec &spec) {
  ExpertSpec &experts = addExperts(spec);
  readChoice(reader, experts);
  experts.width = reader.readSize(keys::expertSize, std::nullopt);
  normalize(experts, reader.readBool(keys::normalizesScores, false));
  readLosses(reader);
  readSparseLayers(reader, spec, experts);
}

static void readQwen2Experts(SpecReader &reader, ModelSpec &spec) {
  readQwenExperts(reader, spec);
  spec.experts->sharedWidth =
      reader.readSize(keys::sharedExpertSize, std::nullopt);
  spec.experts->gatesShared = true;
}

static void readDeepSeek2Experts(SpecReader &reader, ModelSpec &spec) {
  ExpertSpec *experts = readDeepSeekExperts(reader, spec, "softmax");
  if (!experts)
    return;
  std::string method = reader.readString(keys::routingMethod, "greedy");
  if (method == "group_limited_greedy")
    readGroups(reader, /*numSummed=*/1, *experts);
  else if (method != "greedy")
    rejectMethod(reader, "greedy or group_limited_greedy", method);
  normalize(*experts, reader.readBool(keys::normalizesScores, false));
  // Its class scales only weights that it does not normalise.
  if (experts->router.normalizes)
    experts->router.scale = 1.0;
}

static void readDeepSeek3Experts(SpecReader &reader, ModelSpec &spec) {
  ExpertSpec *experts = readDeepSeekExperts(reader, spec, "sigmoid");
  if (!experts)
    return;
  std::string method = reader.readString(keys::routingMethod, "noaux_tc");
  if (method != "noaux_tc")
    rejectMethod(reader, "noaux_tc", method);
  readGroups(reader, /*numSummed=*/2, *experts);
  normalize(*experts, reader.readBool(keys::normalizesScores, true));
  // No rate: it stays as a checkpoint has it.
  experts->router.bias.emplace();
}

//===----------------------------------------------------------------------===//
// DeepSeek-V2 and V3
//===----------------------------------------------------------------------===//

static void readSizes(SpecReader &reader, ModelSpec &spec) {
  LatentAttentionSpec &latent = spec.latent.emplace();
  latent.queryRank = reader.readOptionalSize(keys::queryRank);
  latent.layout =
      latent.queryRank ? LatentLayout::DownTogether : LatentLayout::QueryApart;
  latent.keyValueRank = reader.readSize(keys::keyValueRank, std::nullopt);
  latent.plainSize = reader.readSize(keys::plainHeadSize, std::nullopt);
  latent.rotarySize = reader.readSize(keys::rotaryHeadSize, std::nullopt);
  latent.valueSize = reader.readSize(keys::valueHeadSize, std::nullopt);
  spec.numHeads = reader.readSize(keys::numHeads, std::nullopt);
  reader.markRead({keys::numKeyValueHeads, keys::headSize});
  setLatentHeads(spec);
  checkLatentHeads(reader, spec, keys::numHeads);
  if (reader.readBool(keys::queryKeyValueBias, false))
    reader.error(keys::queryKeyValueBias,
                 "expected false for {key}: latent attention has no biases");
}

/// Waves, tables and the scale of scores.
static void readRotary(SpecReader &reader, ModelSpec &spec) {
  LatentAttentionSpec &latent = *spec.latent;
  spec.rotary.size = latent.rotarySize;
  spec.rotary.movesPairs = true;
  latent.scale = 1.0 / std::sqrt(static_cast<double>(latent.getKeySize()));
  Node scaling = reader.readMap(keys::ropeScaling);
  if (!scaling.isMap())
    return;
  SpecReader inner(scaling, keys::ropeScaling.getName(), reader.diagnostics,
                   reader.naming);
  std::string kind = inner.readString({"rope_type", "type"}, "default");
  if (kind == "default")
    return;
  if (kind != "yarn") {
    reader.diagnostics.error(inner.locate({"rope_type", "type"}),
                             "expected yarn for the type of " +
                                 quote(keys::ropeScaling.getName()) +
                                 ", but got " + quote(kind));
    return;
  }
  YarnSpec yarn;
  yarn.factor = inner.readPositive(keys::ropeFactor, 1.0);
  yarn.length = inner.readPositive(keys::originalMaxPositions,
                                   static_cast<double>(spec.sequenceLength));
  yarn.betaFast = inner.readPositive(keys::betaFast, 32.0);
  yarn.betaSlow = inner.readPositive(keys::betaSlow, 1.0);
  yarn.scale = inner.readNumber(keys::mscale).value_or(1.0);
  yarn.scaleOfAllDims = inner.readNumber(keys::mscaleAllDim).value_or(0.0);
  setYarnFrequencies(yarn, spec.rotary);
  const double sharpness = getYarnScale(yarn.factor, yarn.scaleOfAllDims);
  spec.rotary.amplitude = getYarnScale(yarn.factor, yarn.scale) / sharpness;
  latent.scale *= sharpness * sharpness;
}

static void readNextTokenLayers(SpecReader &reader, ModelSpec &spec) {
  const ModelKey &key = keys::nextTokenLayers;
  NextTokenSpec &next = spec.nextTokens;
  next.depth = reader.readInt(key, 0);
  if (next.depth == 0 || next.depth == 1)
    return;
  reader.error(key,
               "expected 0 or 1 for {key}, but got " + llvm::Twine(next.depth));
  next.depth = 0;
}

static void readLatentModel(SpecReader &reader, ModelSpec &spec) {
  spec.family = ModelFamily::Mcore;
  spec.concatenatesFeedForward = true;
  readSizes(reader, spec);
  readRotary(reader, spec);
}

static void readHuggingFaceDeepSeek2(SpecReader &reader, ModelSpec &spec) {
  readLatentModel(reader, spec);
  readDeepSeek2Experts(reader, spec);
}

static void readHuggingFaceDeepSeek3(SpecReader &reader, ModelSpec &spec) {
  readLatentModel(reader, spec);
  readDeepSeek3Experts(reader, spec);
  readNextTokenLayers(reader, spec);
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

static void readHeads(SpecReader &reader, ModelSpec &spec) {
  spec.numHeads = reader.readSize(keys::numHeads, std::nullopt);
  spec.numKeyValueHeads =
      reader.readSize(keys::numKeyValueHeads, spec.numHeads);
  std::optional<int64_t> headSize = reader.readOptionalSize(keys::headSize);
  spec.headSize = headSize.value_or(spec.hiddenSize / spec.numHeads);
  if (!headSize && spec.hiddenSize % spec.numHeads != 0) {
    reader.error(keys::numHeads, "expected {key} to divide hidden_size " +
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
                    " tokens is not modelled; attention sees all " +
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
