//===- ChatGlmSpec.cpp - ChatGLM2Config -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExpertReader.h"
#include "FamilyReaders.h"

namespace mf {

/// Rejects options of ChatGLM2Block that no GLM 2, 3 or 4 uses.
static void rejectVariants(SpecReader &reader) {
  struct Variant {
    SpecReader::Keys key;
    bool expected;
  };
  for (const Variant &variant :
       {Variant{{"rmsnorm"}, true}, Variant{keys::finalNorm, true},
        Variant{keys::linearBias, false},
        Variant{keys::postNormConnection, false}})
    if (reader.readBool(variant.key, variant.expected) != variant.expected)
      reader.error(variant.key,
                   "expected " +
                       llvm::Twine(variant.expected ? "True" : "False") +
                       " for " + quote(reader.nameOf(variant.key)) +
                       ": the other kind of layer is not supported");
}

/// The head's rows are sharded over all ranks of a stage if their number is
/// divisible.
static VocabularyCut getHeadCut(const ModelSpec &spec) {
  constexpr int64_t longSequence = 32768;
  const RankLayout &ranks = spec.ranks;
  int64_t parts =
      ranks.dataParallel * ranks.contextParallel * ranks.modelParallel;
  if (spec.tableCut != VocabularyCut::None && spec.vocabSize % parts == 0)
    return VocabularyCut::All;
  return ranks.sequenceParallel && spec.sequenceLength < longSequence
             ? VocabularyCut::Model
             : VocabularyCut::None;
}

/// Key and value heads fewer than model-parallel ranks are copied to
/// neighbours.
static void checkRanks(SpecReader &reader, const ModelSpec &spec) {
  int64_t parts = spec.ranks.getHeadParts();
  checkHeadParts(reader, spec.numHeads, parts, keys::numHeads);
  int64_t groups = spec.numKeyValueHeads;
  if (groups >= parts || parts % groups != 0)
    checkHeadParts(reader, groups, parts, keys::numKeyValueHeads);
}

void readChatGlm(SpecReader &reader, ModelSpec &spec) {
  readUnused(reader, {"no_recompute_layers"}, "[]",
             "since release 1.2: recompute_config alone says what is "
             "recomputed");
  spec.family = ModelFamily::ChatGlm;
  spec.sequenceLength = reader.readSize(keys::sequenceLength, 2048);
  spec.vocabSize = reader.readSize(keys::vocabSize, 65024);
  spec.hiddenSize = reader.readSize(keys::hiddenSize, 4096);
  spec.numLayers = reader.readSize(keys::numLayers, 28);
  spec.numHeads = reader.readSize(keys::numHeads, 32);
  spec.headSize = reader.readSize(keys::headSize, 128);
  spec.feedForwardSize = reader.readSize(keys::feedForwardSize, 13696);
  int64_t groups = reader.readSize(keys::numKeyValueHeads, 2);
  spec.numKeyValueHeads =
      reader.readBool(keys::sharesKeyValueHeads, true) ? groups : spec.numHeads;
  spec.padTokenId = reader.readInt(keys::padTokenId, 0);
  spec.ignoreTokenId = reader.readInt(keys::ignoreTokenId, -100);
  spec.normEpsilon = reader.readPositive(keys::normEpsilon, 1e-5);
  spec.queryKeyValueBias = reader.readBool(keys::queryKeyValueBias, true);
  bool concatenatesProjections = reader.readBool(keys::qkvConcat, true);
  spec.projections = concatenatesProjections ? ProjectionLayout::QueryKeyValue
                                             : ProjectionLayout::Separate;
  spec.concatenatesFeedForward = reader.readBool(keys::mlpConcat, true);
  spec.usesFlashAttention = reader.readBool(keys::flashAttention, false);
  spec.tiesWordEmbeddings = reader.readBool(keys::tieWordEmbeddings, false);
  spec.initializerRange = reader.readPositive(keys::initializerRange, 0.02);
  spec.dropout.hidden = reader.readShare(keys::hiddenDropout);
  spec.dropout.attention = reader.readShare(keys::attentionDropout);
  rejectVariants(reader);

  // Half of each head rotates, as neighbouring pairs; rope_ratio stretches
  // the base.
  readRotary(reader, spec, keys::rotaryBase, spec.headSize);
  spec.rotary.base *= reader.readPositive(keys::ropeRatio, 1.0);
  spec.rotary.size = spec.headSize / 2;
  spec.rotary.rotatesPairs = true;

  spec.computeType = reader.readType(keys::computeType, DType::F16);
  spec.paramType = reader.readType(keys::paramType, DType::F16);
  spec.embeddingType = reader.readType(keys::embeddingType, spec.paramType);
  spec.normType = reader.readType(keys::normType, DType::F32);
  spec.rotaryType = reader.readType(keys::rotaryType, DType::F32);
  spec.softmaxType = reader.readBool(keys::softmaxInFp32, true)
                         ? DType::F32
                         : spec.computeType;
  spec.residualType = reader.readBool(keys::residualInFp32, false)
                          ? DType::F32
                          : spec.computeType;
  checkHeads(reader, spec, keys::numHeads, keys::numKeyValueHeads);
  checkRanks(reader, spec);
  spec.headCut = getHeadCut(spec);
  spec.parallelOptimizerTable = true;
}

} // namespace mf
