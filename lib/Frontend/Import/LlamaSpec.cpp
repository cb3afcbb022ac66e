//===- LlamaSpec.cpp - LlamaConfig and the classes derived from it --------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExpertReader.h"
#include "FamilyReaders.h"

namespace mf {

std::optional<int64_t>
computeFeedForwardSize(int64_t hiddenSize, int64_t multipleOf,
                       std::optional<double> multiplier) {
  int64_t size = 4 * hiddenSize;
  if (multiplier) {
    double scaled = (*multiplier + 0.01) * 4 * static_cast<double>(hiddenSize);
    if (!(scaled < 0x1p52))
      return std::nullopt;
    size = static_cast<int64_t>(scaled);
  }
  size = 2 * size / 3;
  size = (size + multipleOf - 1) / multipleOf * multipleOf;
  return size > 0 ? std::optional<int64_t>(size) : std::nullopt;
}

void checkHeads(SpecReader &reader, const ModelSpec &spec,
                const SpecReader::Keys &heads,
                const SpecReader::Keys &keyValueHeads) {
  DiagnosticList &diagnostics = reader.diagnostics;
  if (spec.numHeads % spec.numKeyValueHeads != 0)
    diagnostics.error(reader.locate(keyValueHeads),
                      "expected a divisor of the " +
                          llvm::Twine(spec.numHeads) + " heads for " +
                          quote(reader.nameOf(keyValueHeads)) + ", but got " +
                          llvm::Twine(spec.numKeyValueHeads));
  if (spec.rotary.size % 2 != 0)
    diagnostics.error(reader.locate(heads),
                      "rotary embedding needs an even number of dimensions per "
                      "head, but there are " +
                          llvm::Twine(spec.rotary.size));
}

void checkHeadParts(SpecReader &reader, int64_t heads, int64_t parts,
                    const SpecReader::Keys &keys) {
  if (heads % parts != 0)
    reader.error(keys,
                 "expected a multiple of " + llvm::Twine(parts) + " for " +
                     quote(reader.nameOf(keys)) +
                     ", the ranks of model_parallel and of context_parallel "
                     "over which heads are cut, but got " +
                     llvm::Twine(heads));
}

int64_t divideHidden(SpecReader &reader, const ModelSpec &spec) {
  if (spec.hiddenSize % spec.numHeads == 0)
    return spec.hiddenSize / spec.numHeads;
  Node hidden = reader.find(keys::hiddenSize);
  Diagnostic &error = reader.error(
      keys::numHeads, "expected {key} to divide hidden_size " +
                          llvm::Twine(spec.hiddenSize) + ", but got " +
                          llvm::Twine(spec.numHeads));
  if (hidden)
    error.attachNote("hidden_size is here", hidden.getLocation());
  return 2;
}

void rejectContextParallel(SpecReader &reader, const ModelSpec &spec,
                           llvm::StringRef whose) {
  if (spec.ranks.contextParallel > 1)
    reader.diagnostics.error(
        reader.getNode().getLocation(),
        "expected context_parallel 1: " + whose +
            "'s attention cannot work on parts of a sequence");
}

/// Factors of ffn_dim_multiplier are about 1. From here on it is a width: so
/// TeleChat's layers of release 1.1 read it.
static constexpr double leastWidth = 64.0;

/// True if ffn_dim_multiplier is the width of the feed forward and not a
/// factor.
static bool isMultiplierWidth(SpecReader &reader) {
  return reader.readOptionalPositive(keys::feedForwardMultiplier)
             .value_or(1.0) >= leastWidth;
}

namespace {
/// Defaults in which the config classes differ.
struct LlamaDefaults {
  int64_t vocabSize = 32000;
  std::optional<int64_t>
      numKeyValueHeads; ///< The default is the number of heads.
  std::optional<int64_t>
      feedForwardSize; ///< The default depends on hidden_size.
  int64_t padTokenId = 0;
  /// True if ffn_dim_multiplier may be the width of the feed forward.
  bool multiplierMayBeWidth = false;
};
} // namespace

static void readFeedForwardSize(SpecReader &reader, ModelSpec &spec,
                                const LlamaDefaults &defaults) {
  int64_t multipleOf = reader.readSize(keys::feedForwardMultiple, 256);
  std::optional<double> multiplier =
      reader.readOptionalPositive(keys::feedForwardMultiplier);
  if (std::optional<int64_t> size =
          reader.readOptionalSize(keys::feedForwardSize)) {
    spec.feedForwardSize = *size;
    return;
  }
  if (defaults.feedForwardSize) {
    spec.feedForwardSize = *defaults.feedForwardSize;
    return;
  }
  if (defaults.multiplierMayBeWidth && isMultiplierWidth(reader)) {
    spec.feedForwardSize =
        reader.readSize(keys::feedForwardMultiplier, std::nullopt);
    return;
  }
  std::optional<int64_t> size =
      computeFeedForwardSize(spec.hiddenSize, multipleOf, multiplier);
  if (!size)
    reader.error(
        keys::feedForwardMultiplier,
        "the feed forward size overflows; give intermediate_size instead");
  spec.feedForwardSize = size.value_or(1);
}

void readElementTypes(SpecReader &reader, ModelSpec &spec) {
  spec.computeType = reader.readType(keys::computeType, DType::F16);
  spec.paramType = reader.readType(keys::paramType, DType::F16);
  spec.embeddingType = reader.readType(keys::embeddingType, spec.paramType);
  spec.normType = reader.readType(keys::normType, DType::F32);
  spec.softmaxType = reader.readType(keys::softmaxType, DType::F32);
  spec.rotaryType = reader.readType(keys::rotaryType, DType::F32);
  spec.residualType = reader.readType(keys::residualType, spec.computeType);
}

/// Reads the keys that LlamaConfig and its relatives share.
static void readLlamaLike(SpecReader &reader, ModelSpec &spec,
                          const LlamaDefaults &defaults = {}) {
  spec.sequenceLength = reader.readSize(keys::sequenceLength, 2048);
  spec.vocabSize = reader.readSize(keys::vocabSize, defaults.vocabSize);
  spec.hiddenSize = reader.readSize(keys::hiddenSize, 4096);
  spec.numLayers = reader.readSize(keys::numLayers, 32);
  spec.numHeads = reader.readSize(keys::numHeads, 32);
  spec.numKeyValueHeads =
      reader.readSize(keys::numKeyValueHeads,
                      defaults.numKeyValueHeads.value_or(spec.numHeads));
  spec.headSize = divideHidden(reader, spec);
  readFeedForwardSize(reader, spec, defaults);
  spec.padTokenId = reader.readInt(keys::padTokenId, defaults.padTokenId);
  spec.ignoreTokenId = reader.readInt(keys::ignoreTokenId, -100);
  spec.normEpsilon = reader.readPositive(keys::normEpsilon, 1e-5);
  spec.tiesWordEmbeddings = reader.readBool(keys::tieWordEmbeddings, false);
  spec.usesFlashAttention = reader.readBool(keys::flashAttention, false);
  spec.parallelOptimizerTable = reader.readBool(keys::parallelOptimizer, false);
  readElementTypes(reader, spec);
}

static void readConcatenation(SpecReader &reader, ModelSpec &spec) {
  if (!reader.readBool(keys::qkvConcat, false))
    return;
  spec.projections = ProjectionLayout::QueryKeyValue;
  spec.concatenatesFeedForward = true;
}

static void checkLlamaHeads(SpecReader &reader, const ModelSpec &spec) {
  checkHeads(reader, spec, keys::numHeads, keys::numKeyValueHeads);
  int64_t parts = spec.ranks.getHeadParts();
  checkHeadParts(reader, spec.numHeads, parts, keys::numHeads);
  if (spec.numKeyValueHeads != spec.numHeads)
    checkHeadParts(reader, spec.numKeyValueHeads, parts,
                   keys::numKeyValueHeads);
}

void readLlama(SpecReader &reader, ModelSpec &spec) {
  spec.family = ModelFamily::Llama;
  readLlamaLike(reader, spec);
  readConcatenation(reader, spec);
  readRotary(reader, spec, keys::rotaryBase, spec.headSize);
  spec.queryKeyValueBias = reader.readBool(keys::queryKeyValueBias, false);
  spec.attentionOutputBias = reader.readBool(keys::attentionOutputBias, false);
  spec.initializerRange = reader.readPositive(keys::initializerRange, 0.01);
  checkLlamaHeads(reader, spec);
}

void readMixtralExtend(SpecReader &reader, ModelSpec &spec) {
  readLlama(reader, spec);
  spec.extendsMixtral = true;
}

void readBaichuan7B(SpecReader &reader, ModelSpec &spec) {
  readLlama(reader, spec);
  spec.normalizesHead = true;
}

void readBaichuan13B(SpecReader &reader, ModelSpec &spec) {
  readBaichuan7B(reader, spec);
  spec.rotary.size = 0;
  spec.usesAlibi = true;
}

void readInternLm(SpecReader &reader, ModelSpec &spec) {
  readLlama(reader, spec);
  bool hasBias = reader.readBool(keys::linearBias, true);
  spec.queryKeyValueBias = hasBias;
  spec.attentionOutputBias = hasBias;
}

/// Returns the defaults of InternLM2Config, some of which differ from
/// LlamaConfig's.
static LlamaDefaults getInternLm2Defaults() {
  LlamaDefaults defaults;
  defaults.vocabSize = 92544;
  defaults.numKeyValueHeads = 8;
  defaults.feedForwardSize = 14336;
  defaults.padTokenId = 2;
  return defaults;
}

void readInternLm2(SpecReader &reader, ModelSpec &spec) {
  spec.family = ModelFamily::InternLm2;
  readLlamaLike(reader, spec, getInternLm2Defaults());
  if (reader.readBool(keys::qkvConcat, true))
    spec.projections = ProjectionLayout::QueryKeyValue;
  readRotary(reader, spec, keys::rotaryBase, spec.headSize, "None", 1e6);
  readUnused(reader, keys::linearBias, "False",
             "here: InternLM2's attention has no biases");
  spec.initializerRange = reader.readPositive(keys::initializerRange, 0.01);
  // The type does not depend on param_init_type.
  spec.headType = DType::F16;
  // The vocabulary of the head is also sharded over the replicas.
  if (spec.headCut != VocabularyCut::None)
    spec.headCut = VocabularyCut::All;
  checkLlamaHeads(reader, spec);
  rejectContextParallel(reader, spec, "InternLM2");
}

void readQwen(SpecReader &reader, ModelSpec &spec) {
  spec.family = ModelFamily::Qwen;
  readLlamaLike(reader, spec);
  readConcatenation(reader, spec);
  readRotary(reader, spec, keys::rotaryBase, spec.headSize);
  spec.queryKeyValueBias = reader.readBool(keys::queryKeyValueBias, true);
  spec.initializerRange = reader.readPositive(keys::initializerRange, 0.01);
  checkLlamaHeads(reader, spec);
}

/// True if the keys are those of TeleChat's layers in release 1.1.
static bool isFirstTelechat(SpecReader &reader) {
  return !reader.readOptionalSize(keys::feedForwardSize) &&
         isMultiplierWidth(reader);
}

/// The first release applies dropout before the bias, and has none for the
/// embedding or in flash attention.
static void readTelechatDropout(SpecReader &reader, ModelSpec &spec,
                                bool isFirstRelease) {
  spec.dropout.hidden = reader.readShare(keys::hiddenDropout);
  spec.dropout.precedesBias = isFirstRelease;
  if (isFirstRelease)
    readUnused(reader, keys::embeddingDropout, "0",
               "on the layers of release 1.1");
  else
    spec.dropout.embedding = reader.readShare(keys::embeddingDropout);
  if (isFirstRelease && spec.usesFlashAttention)
    readUnused(reader, keys::attentionDropout, "0",
               "on the flash attention of release 1.1");
  else
    spec.dropout.attention = reader.readShare(keys::attentionDropout);
}

/// True if the head shares the embedding's table: for the 7B model in all
/// releases, and in release 1.1 for all models but the 12B model.
static bool isTelechatHeadTied(SpecReader &reader, bool isFirstRelease) {
  const std::string name =
      reader.readString(keys::netName, reader.readString(keys::modelName, ""));
  if (name == "telechat_7b")
    return true;
  return isFirstRelease && name != "telechat_12b";
}

/// embedding_size applies to all models but TeleChat3's with 36B parameters,
/// whose YAML has the key without effect.
static void readEmbeddingSize(SpecReader &reader) {
  std::optional<int64_t> size = reader.readOptionalSize(keys::embeddingSize);
  if (size && reader.readString(keys::netName, "") != "telechat3_36b")
    reader.warn(
        keys::embeddingSize,
        "a table of " + llvm::Twine(*size) +
            " elements per token ({key}), which two linear layers map to "
            "hidden_size and back, is not modelled; the table has hidden_size");
}

/// With eod_reset, attention is limited to the document of a token. Positions
/// are still those in the sequence.
static void readDocuments(SpecReader &reader, ModelSpec &spec) {
  if (!reader.readBool(keys::resetsDocuments, false))
    return;
  constexpr int64_t telechatEnd = 2;
  const int64_t end = reader.readInt(keys::eosTokenId, telechatEnd);
  spec.documentEnd = reader.readInt(keys::eodTokenId, end);
  if (spec.ranks.contextParallel > 1)
    reader.error(keys::resetsDocuments,
                 "expected context_parallel 1 with {key}, but got " +
                     llvm::Twine(spec.ranks.contextParallel) +
                     ": where a document starts follows from all tokens of a "
                     "sequence; use model_parallel or seq_split_num instead");
}

void readTelechat(SpecReader &reader, ModelSpec &spec) {
  spec.family = ModelFamily::Telechat;
  LlamaDefaults defaults;
  defaults.multiplierMayBeWidth = true;
  readLlamaLike(reader, spec, defaults);
  const bool isFirstRelease = isFirstTelechat(reader);
  spec.tiesWordEmbeddings |= isTelechatHeadTied(reader, isFirstRelease);
  readTelechatDropout(reader, spec, isFirstRelease);
  readRotary(reader, spec, keys::rotaryBase, spec.headSize);
  spec.projections = ProjectionLayout::KeyValue;
  spec.attentionOutputBias = reader.readBool(keys::attentionOutputBias, true);
  spec.feedForwardOutputBias = true;
  readEmbeddingSize(reader);
  readDocuments(reader, spec);
  spec.initializerRange = reader.readPositive(keys::initializerRange, 0.0048);
  checkLlamaHeads(reader, spec);
}

} // namespace mf
