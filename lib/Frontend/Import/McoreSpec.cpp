//===- McoreSpec.cpp - TransformerConfig of the mcore training graph ------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExpertReader.h"
#include "FamilyReaders.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <cmath>

namespace mf {

namespace {
/// Defaults in which the config classes differ.
struct McoreDefaults {
  int64_t vocabSize = 151936, hiddenSize = 4096, numLayers = 32, numHeads = 32;
  int64_t feedForwardSize = 22016;
  double normEpsilon = 1e-6;
  /// Whether ranks of tensor parallel have some heads each.
  bool cutsHeads = true;
  /// Activations as messages list them, with gates first and last.
  llvm::ArrayRef<llvm::StringLiteral> activations = allActivations;
  static constexpr llvm::StringLiteral allActivations[] = {"silu", "swiglu",
                                                           "fusedswiglu"};
};
} // namespace

static void readSizes(SpecReader &reader, const McoreDefaults &defaults,
                      ModelSpec &spec) {
  spec.sequenceLength = reader.readSize(keys::sequenceLength, 4096);
  spec.vocabSize = reader.readSize(keys::vocabSize, defaults.vocabSize);
  spec.hiddenSize = reader.readSize(keys::hiddenSize, defaults.hiddenSize);
  spec.numLayers = reader.readSize(keys::numLayers, defaults.numLayers);
  spec.numHeads = reader.readSize(keys::numHeads, defaults.numHeads);
  spec.feedForwardSize =
      reader.readSize(keys::feedForwardSize, defaults.feedForwardSize);
}

static void readActivation(SpecReader &reader, const McoreDefaults &defaults,
                           ModelSpec &spec) {
  if (reader.readBool(keys::linearBias, false))
    reader.error(keys::linearBias, "expected False for {key}: biases in all "
                                   "linear layers are not supported");
  std::string activation = reader.readString(keys::activation, "silu");
  spec.activationMultiplies = activation != "silu";
  if (llvm::is_contained(defaults.activations, activation))
    return;
  const std::string others = llvm::join(defaults.activations.drop_back(), ", ");
  reader.error(keys::activation,
               "expected " + others + " or " + defaults.activations.back() +
                   " for {key}, but got " + quote(activation));
}

static void readMcoreTypes(SpecReader &reader, ModelSpec &spec) {
  spec.computeType = reader.readType(keys::computeType, DType::BF16);
  spec.paramType = reader.readType(keys::paramType, DType::F32);
  spec.embeddingType = reader.readType(keys::embeddingType, spec.paramType);
  spec.normType = reader.readType(keys::normType, DType::F32);
  spec.softmaxType = reader.readType(keys::softmaxType, DType::F32);
  spec.rotaryType = reader.readType(keys::rotaryType, DType::F32);
  spec.residualType = reader.readBool(keys::residualInFp32, false)
                          ? DType::F32
                          : spec.computeType;
}

/// Reads the common keys of the classes, except those of attention.
static void readMcore(SpecReader &reader, const McoreDefaults &defaults,
                      ModelSpec &spec) {
  spec.family = ModelFamily::Mcore;
  readSizes(reader, defaults, spec);
  spec.padTokenId = reader.readInt(keys::padTokenId, -1);
  spec.ignoreTokenId = reader.readInt(keys::ignoreTokenId, -100);
  spec.normEpsilon =
      reader.readPositive(keys::normEpsilon, defaults.normEpsilon);
  spec.initializerRange = reader.readPositive(keys::initializerRange, 0.02);
  // These layers have no other layout than one weight.
  reader.markRead(keys::qkvConcat);
  spec.concatenatesFeedForward = true;
  spec.usesFlashAttention = reader.readBool(keys::flashAttention, true);
  spec.compressesMask = reader.readBool(keys::compressedMask, false) ||
                        reader.readBool(keys::compressedDocumentMask, false);
  spec.tiesWordEmbeddings = reader.readBool(keys::tieWordEmbeddings, false) ||
                            !reader.readBool(keys::untieWordEmbeddings, true);
  spec.dropout.hidden = reader.readShare(keys::hiddenDropout);
  spec.dropout.attention = reader.readShare(keys::attentionDropout);
  readActivation(reader, defaults, spec);
  readMcoreTypes(reader, spec);
  if (defaults.cutsHeads)
    checkHeadParts(reader, spec.numHeads, spec.ranks.getHeadParts(),
                   keys::numHeads);
  // The converter of configurations drops this key of the legacy classes.
  readUnused(reader, keys::scalingFactor, "1",
             "on " + reader.getGraph() + ", which takes the factor of " +
                 keys::ropeScaling.getName());
  // vocab_emb_dp has no effect here.
  spec.tableCut = spec.headCut = VocabularyCut::Model;
  spec.parallelOptimizerTable = true;
}

namespace {
/// Defaults of attention with grouped heads in which the config classes differ.
struct GroupedDefaults {
  int64_t keyValueHeads = 32, headSize = 128;
  bool hasHeadNorms = false;
};
} // namespace

/// Attention has groups only if there are fewer groups than heads. Otherwise
/// each head has keys and values of its own.
static void readGroups(SpecReader &reader, ModelSpec &spec, int64_t missing) {
  const ModelKey &keys = keys::numKeyValueHeads;
  spec.numKeyValueHeads = reader.readSize(keys, missing);
  if (spec.numKeyValueHeads <= spec.numHeads)
    return;
  if (reader.find(keys))
    reader.warn(keys, "attention with " + llvm::Twine(spec.numHeads) +
                          " heads has no more groups than heads: {key} " +
                          llvm::Twine(spec.numKeyValueHeads) +
                          " has the same effect as " +
                          llvm::Twine(spec.numHeads));
  spec.numKeyValueHeads = spec.numHeads;
}

/// Reads all of attention with grouped heads but its rotation.
static void readGroupedHeads(SpecReader &reader, ModelSpec &spec,
                             const GroupedDefaults &defaults) {
  readGroups(reader, spec, defaults.keyValueHeads);
  spec.headSize = reader.readSize(keys::headSize, defaults.headSize);
  spec.projections = ProjectionLayout::QueryKeyValue;
  spec.queryKeyValueBias = reader.readBool(keys::queryKeyValueBias, false);
  spec.normalizesQueryKey =
      reader.readBool(keys::queryKeyNorms, defaults.hasHeadNorms);
}

/// The sizes of heads and their rotation must have been read.
static void checkGroupedHeads(SpecReader &reader, const ModelSpec &spec) {
  if (spec.hiddenSize % spec.numHeads != 0)
    reader.error(keys::hiddenSize, "expected {key} to be a multiple of the " +
                                       llvm::Twine(spec.numHeads) +
                                       " heads, but got " +
                                       llvm::Twine(spec.hiddenSize));
  checkHeads(reader, spec, keys::numHeads, keys::numKeyValueHeads);
  checkHeadParts(reader, spec.numKeyValueHeads, spec.ranks.modelParallel,
                 keys::numKeyValueHeads);
}

static void readGroupedAttention(SpecReader &reader, ModelSpec &spec,
                                 const GroupedDefaults &defaults) {
  readGroupedHeads(reader, spec, defaults);
  readRotary(reader, spec, keys::rotaryBase, spec.headSize);
  readRopeScaling(reader, spec);
  checkGroupedHeads(reader, spec);
}

void readQwen3(SpecReader &reader, ModelSpec &spec) {
  readMcore(reader, McoreDefaults(), spec);
  readGroupedAttention(reader, spec, {32, 128, /*hasHeadNorms=*/true});
}

//===----------------------------------------------------------------------===//
// Latent attention
//===----------------------------------------------------------------------===//

/// Reads the reach of rotation, from the section itself or from rope_scaling,
/// which is unpacked into it.
static YarnSpec readYarn(SpecReader &reader, const ModelSpec &spec,
                         bool &isYarn) {
  YarnSpec yarn;
  yarn.factor = reader.readPositive(keys::rotaryScalingFactor, 40.0);
  yarn.betaFast = reader.readPositive(keys::betaFast, 32.0);
  yarn.betaSlow = reader.readPositive(keys::betaSlow, 1.0);
  yarn.scale = reader.readNumber(keys::mscale).value_or(0.707);
  yarn.scaleOfAllDims = reader.readNumber(keys::mscaleAllDim).value_or(0.707);
  yarn.length = reader.readPositive(keys::maxPositions,
                                    static_cast<double>(spec.sequenceLength));
  std::string kind = "rope";
  Node scaling = reader.readMap(keys::ropeScaling);
  if (scaling.isMap()) {
    SpecReader inner(scaling, keys::ropeScaling.getName(), reader.diagnostics,
                     reader.naming);
    kind = inner.readString({"rope_type", "type"}, kind);
    yarn.factor = inner.readPositive(keys::ropeFactor, yarn.factor);
    yarn.betaFast = inner.readPositive(keys::betaFast, yarn.betaFast);
    yarn.betaSlow = inner.readPositive(keys::betaSlow, yarn.betaSlow);
    yarn.scale = inner.readNumber(keys::mscale).value_or(yarn.scale);
    yarn.scaleOfAllDims =
        inner.readNumber(keys::mscaleAllDim).value_or(yarn.scaleOfAllDims);
    yarn.length = inner.readPositive(keys::originalMaxPositions, yarn.length);
  }
  kind = reader.readString(keys::positionType, kind);
  isYarn = kind == "yarn";
  if (kind != "rope" && kind != "default" && !isYarn)
    reader.error(keys::positionType,
                 "expected rope or yarn for {key}, but got " + quote(kind));
  return yarn;
}

/// Reads the rotary tables for `size` dimensions of a head as the classes do
/// that have YaRN. Returns the numbers of YaRN, with their defaults if the
/// tables are those without.
static YarnSpec readYarnRotary(SpecReader &reader, ModelSpec &spec,
                               bool &isYarn) {
  spec.rotary.base = reader.readPositive(keys::rotaryBase, 10000.0);
  const YarnSpec yarn = readYarn(reader, spec, isYarn);
  if (!isYarn)
    return yarn;
  setYarnFrequencies(yarn, spec.rotary);
  // These classes multiply angles by the amplitude.
  spec.rotary.positionScale = getYarnScale(yarn.factor, yarn.scale) /
                              getYarnScale(yarn.factor, yarn.scaleOfAllDims);
  return yarn;
}

/// Reads the rotary tables and the scale of the scores, both as in the mcore
/// graph. It scales scores also without YaRN.
static void readLatentRotary(SpecReader &reader, ModelSpec &spec) {
  LatentAttentionSpec &latent = *spec.latent;
  spec.rotary.size = latent.rotarySize;
  spec.rotary.movesPairs = true;
  bool isYarn = false;
  const YarnSpec yarn = readYarnRotary(reader, spec, isYarn);
  const double scale = getYarnScale(yarn.factor, yarn.scale);
  latent.scale =
      scale * scale / std::sqrt(static_cast<double>(latent.getKeySize()));
}

static void readLatentAttention(SpecReader &reader, ModelSpec &spec,
                                bool hasNorms, bool padsValues) {
  LatentAttentionSpec &latent = spec.latent.emplace();
  latent.layout = reader.readBool(keys::mlaQkvConcat, true)
                      ? LatentLayout::DownTogether
                      : LatentLayout::QueryApart;
  // An explicit null means that queries have no latent.
  latent.queryRank = reader.readOptionalSize(keys::queryRank);
  if (!keys::queryRank.find(reader.getNode()))
    latent.queryRank = 1536;
  latent.keyValueRank = reader.readSize(keys::keyValueRank, 512);
  latent.plainSize = reader.readSize(keys::plainHeadSize, 128);
  latent.rotarySize = reader.readSize(keys::rotaryHeadSize, 64);
  latent.valueSize = reader.readSize(keys::valueHeadSize, 128);
  latent.hasNorms = reader.readBool(keys::queryKeyNorms, hasNorms);
  latent.padsValues = padsValues;
  // The record has the other name, kv_channels, of heads of other attention.
  reader.markRead({keys::numKeyValueHeads, {"head_dim"}});
  setLatentHeads(spec);
  readLatentRotary(reader, spec);
  checkLatentHeads(reader, spec, keys::numHeads);
}

static void readNextTokens(SpecReader &reader, ModelSpec &spec) {
  NextTokenSpec &next = spec.nextTokens;
  const ModelKey &depth = keys::nextTokenLayers;
  next.depth = reader.readInt(depth, 0);
  if (next.depth < 0 || next.depth > 1) {
    reader.error(depth, "expected 0 or 1 for {key}, but got " +
                            llvm::Twine(next.depth));
    next.depth = 0;
  }
  const ModelKey &factor = keys::nextTokenLossFactor;
  std::optional<double> given = reader.readOptionalPositive(factor);
  next.lossFactor = given.value_or(0.0);
  if (next.depth > 0 && !given)
    reader.error(depth, "a layer that predicts a later token ({key}) needs the "
                        "weight of its loss, " +
                            quote(reader.nameOf(factor)) +
                            ", which has no default");
}

//===----------------------------------------------------------------------===//
// DeepSeek-V3 without latent attention
//===----------------------------------------------------------------------===//

/// The tables of YaRN are as wide as latent attention's, whatever the heads.
static void readStandardRotary(SpecReader &reader, ModelSpec &spec) {
  spec.rotary.size = spec.headSize;
  bool isYarn = false;
  readYarnRotary(reader, spec, isYarn);
  if (!isYarn)
    return;
  const int64_t size = reader.readSize(keys::rotaryHeadSize, 64);
  if (size != spec.headSize)
    reader.error(keys::rotaryHeadSize,
                 "without " + quote(keys::multiLatentAttention.getName()) +
                     " yarn rotates {key} " + llvm::Twine(size) + " of the " +
                     llvm::Twine(spec.headSize) +
                     " dimensions of a head, which is not supported; expected "
                     "the size of a head, or rope for " +
                     quote(keys::positionType.getName()));
}

/// Warns once about the keys of latent attention that the YAML has.
static void warnAboutLatentKeys(SpecReader &reader) {
  std::string found;
  for (const ModelKey *key :
       {&keys::queryRank, &keys::keyValueRank, &keys::plainHeadSize,
        &keys::valueHeadSize, &keys::rotaryHeadSize, &keys::mlaQkvConcat}) {
    for (llvm::StringRef name : reader.getNames(*key))
      if (!reader.wasRead(name) && !reader.getNode()[name].isUndefinedOrNull())
        found += (found.empty() ? "" : ", ") + name.str();
    reader.markRead(*key);
  }
  if (!found.empty())
    reader.warn(keys::multiLatentAttention,
                "without {key} these keys have no effect: " + found);
}

/// Heads are as wide as hidden_size allows, if no key says otherwise.
static void readStandardAttention(SpecReader &reader, ModelSpec &spec) {
  GroupedDefaults defaults;
  defaults.keyValueHeads = 128;
  defaults.headSize = std::max<int64_t>(spec.hiddenSize / spec.numHeads, 1);
  readGroupedHeads(reader, spec, defaults);
  readStandardRotary(reader, spec);
  checkGroupedHeads(reader, spec);
  warnAboutLatentKeys(reader);
}

void readMcoreDeepSeek(SpecReader &reader, ModelSpec &spec) {
  McoreDefaults defaults;
  defaults.vocabSize = 129280;
  defaults.hiddenSize = 7168;
  defaults.numLayers = 61;
  defaults.numHeads = 128;
  defaults.feedForwardSize = 18432;
  readMcore(reader, defaults, spec);
  if (reader.readBool(keys::multiLatentAttention, true))
    readLatentAttention(reader, spec, /*hasNorms=*/true, /*padsValues=*/true);
  else
    readStandardAttention(reader, spec);
  readNextTokens(reader, spec);
}

//===----------------------------------------------------------------------===//
// DeepSeek-V4
//===----------------------------------------------------------------------===//

/// The class builds grouped attention without it, with sizes that are not
/// known.
static void checkIsLatent(SpecReader &reader) {
  const ModelKey &key = keys::multiLatentAttention;
  if (!reader.readBool(key, true))
    reader.error(key, "this class has no grouped attention in mf: expected "
                      "True for {key}, but got False");
}

/// Latent attention for all that is not one of two other kinds, as the class
/// has it.
static void checkVariant(SpecReader &reader, const SpecReader::Keys &variant,
                         llvm::StringRef kind) {
  if (kind == "dsa")
    reader.error(
        variant,
        "the sparse attention of DeepSeek-V3.2 ('dsa') is not supported; "
        "expected dsv4_hybrid, or mla for latent attention");
  else if (kind != "mla" && kind != "dsv4_hybrid")
    reader.warn(variant, "{key} " + quote(kind) +
                             " is not known: the class has latent attention "
                             "then, as with mla; expected dsv4_hybrid or mla");
}

/// Reads the limit of gates and up projections, which one activation has.
static void readActivationLimit(SpecReader &reader, ModelSpec &spec) {
  const ModelKey &keys = keys::activationLimit;
  const std::optional<double> limit = reader.readOptionalPositive(keys);
  if (reader.readString(keys::activation, "silu") == "fusedswiglu")
    spec.activationLimit = limit;
}

/// The first layers choose experts by token ids.
static void readHashLayers(SpecReader &reader, ModelSpec &spec) {
  const ModelKey &keys = keys::numHashLayers;
  const size_t errors = reader.diagnostics.getErrorCount();
  spec.numHashLayers = readCount(reader, keys, 3);
  if (reader.diagnostics.getErrorCount() == errors &&
      spec.numHashLayers > spec.numLayers)
    reader.error(keys, "moe_n_hash_layers (" + llvm::Twine(spec.numHashLayers) +
                           ") must not exceed num_layers (" +
                           llvm::Twine(spec.numLayers) + "); set {key}");
}

void readMcoreDeepSeek4(SpecReader &reader, ModelSpec &spec) {
  if (!reader.isOfDynamicGraph())
    reader.error(keys::architectures.find(reader.getNode())
                     ? keys::architectures
                     : keys::modelType,
                 "DeepSeek-V4 is a model of the dynamic graph; expected a YAML "
                 "with the sections of its trainer");
  McoreDefaults defaults;
  defaults.vocabSize = 129280;
  defaults.hiddenSize = 7168;
  defaults.numLayers = 61;
  defaults.numHeads = 128;
  defaults.feedForwardSize = 4 * 7168;
  static constexpr llvm::StringLiteral activations[] = {"silu", "fusedswiglu"};
  defaults.activations = activations;
  const ModelKey &variant = keys::attentionVariant;
  const std::string kind = reader.readString(variant, "dsv4_hybrid");
  const bool isHybrid = kind == "dsv4_hybrid";
  defaults.cutsHeads = !isHybrid;
  // Both are names of one number here.
  reader.find({"vocab_size", "actual_vocab_size"});
  readMcore(reader, defaults, spec);
  // The layers' own reset ignores initializer_range.
  spec.initializerRange = 0.01;
  readActivationLimit(reader, spec);
  readHashLayers(reader, spec);
  readNextTokens(reader, spec);
  checkVariant(reader, variant, kind);
  if (!isHybrid)
    checkIsLatent(reader);
  readStreams(reader, spec);
  if (isHybrid) {
    readHybridAttention(reader, spec);
    return;
  }
  readLatentAttention(reader, spec, /*hasNorms=*/false, /*padsValues=*/true);
  reader.markRead(
      {keys::outputRank, keys::outputGroups, keys::compressRatios,
       keys::compressedRotaryBase, keys::slidingWindow, keys::indexerHeads,
       keys::indexerHeadSize, keys::indexerChoices, keys::indexerLossFactor,
       keys::seesAllEntries, keys::fusedSparseAttention,
       keys::indexerSparseLoss, keys::originalMaxPositions, keys::headSize});
}

//===----------------------------------------------------------------------===//
// TeleChat3
//===----------------------------------------------------------------------===//

void readTelechat3Moe(SpecReader &reader, ModelSpec &spec) {
  readMcore(reader, McoreDefaults(), spec);
  checkIsLatent(reader);
  readLatentAttention(reader, spec, /*hasNorms=*/true, /*padsValues=*/false);
  readNextTokens(reader, spec);
}

void readTelechat3(SpecReader &reader, ModelSpec &spec) {
  readMcore(reader, McoreDefaults(), spec);
  // This class is of a version that pads no values.
  if (reader.readBool(keys::multiLatentAttention, false))
    readLatentAttention(reader, spec, /*hasNorms=*/false,
                        /*padsValues=*/false);
  else
    readGroupedAttention(reader, spec, {});
  readNextTokens(reader, spec);
}

} // namespace mf
