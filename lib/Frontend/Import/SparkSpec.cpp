//===- SparkSpec.cpp - IFlytekSparkConfig ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExpertReader.h"
#include "FamilyReaders.h"

namespace mf {

/// Rejects options of IFlytekSparkConfig that no published file uses.
static void rejectSparkVariants(SpecReader &reader) {
  for (const ModelKey *key :
       {&keys::postNormResidual, &keys::postNormConnection})
    if (reader.readBool(*key, false))
      reader.error(*key, "expected False for " + quote(reader.nameOf(*key)) +
                             ": the other kind of layer is not supported");
  readUnused(reader, keys::activation, "'fast_gelu'",
             "on iFlytekSpark: its feed forward has GELU");
  readUnused(reader, {"flash_attention_recompute"}, "False",
             "here: what flash attention makes is always kept");
}

/// Warns if attention would see only the nearest tokens.
static void readWindow(SpecReader &reader, const ModelSpec &spec) {
  const int64_t window = reader.readSize(keys::localWindow, 8192);
  if (window < spec.sequenceLength)
    reader.warn(keys::localWindow,
                "attention to the last " + llvm::Twine(window) +
                    " tokens alone ({key}) is not modelled; all " +
                    llvm::Twine(spec.sequenceLength) + " are seen");
}

static void readSparkTypes(SpecReader &reader, ModelSpec &spec) {
  spec.computeType = reader.readType(keys::computeType, DType::F16);
  spec.paramType = spec.computeType;
  spec.normType = reader.readType(keys::normType, DType::F32);
  spec.softmaxType = reader.readType(keys::softmaxType, DType::F16);
  spec.rotaryType = spec.computeType;
  // The table is never stored in bf16, but its result may be bf16.
  spec.residualType = reader.readType(keys::embeddingType, DType::F32);
  spec.embeddingType =
      spec.residualType == DType::BF16 ? DType::F32 : spec.residualType;
}

void readSpark(SpecReader &reader, ModelSpec &spec) {
  spec.family = ModelFamily::Spark;
  spec.sequenceLength = reader.readSize(keys::sequenceLength, 32768);
  spec.vocabSize = reader.readSize(keys::vocabSize, 60000);
  spec.hiddenSize = reader.readSize(keys::hiddenSize, 5120);
  spec.numLayers = reader.readSize(keys::numLayers, 40);
  spec.numHeads = reader.readSize(keys::numHeads, 40);
  spec.numKeyValueHeads = spec.numHeads;
  spec.headSize = divideHidden(reader, spec);
  // The key counts gate and up projection together.
  const int64_t width = reader.readSize(keys::feedForwardSize, 28672);
  if (width < 2)
    reader.error(keys::feedForwardSize, "expected at least 2 for {key}, half "
                                        "of which is the feed forward's width");
  spec.feedForwardSize = std::max<int64_t>(width / 2, 1);
  spec.padTokenId = reader.readInt(keys::padTokenId, 0);
  spec.ignoreTokenId = reader.readInt(keys::ignoreTokenId, -100);
  spec.normEpsilon = reader.readPositive(keys::normEpsilon, 1e-5);
  rejectSparkVariants(reader);
  readWindow(reader, spec);
  spec.usesLayerNorm = true;
  // Only the weights of the norm are in normType.
  spec.castsNormInput = false;
  spec.activation = Activation::Gelu;
  spec.queryKeyValueBias = true;
  spec.attentionOutputBias = true;
  spec.feedForwardInputBias = true;
  spec.feedForwardOutputBias = true;
  spec.tiesWordEmbeddings = true;
  spec.usesFlashAttention = true;
  spec.initializesXavier = true;
  spec.rotary.size = spec.headSize;
  spec.rotary.base = 1e6;
  spec.dropout.hidden = reader.readShare(keys::hiddenDropout);
  spec.dropout.embedding = spec.dropout.hidden;
  spec.dropout.attention = spec.dropout.hidden;
  readSparkTypes(reader, spec);
  if (spec.tableCut != VocabularyCut::None)
    spec.tableCut = VocabularyCut::Model;
  checkHeads(reader, spec, keys::numHeads, keys::numHeads);
  checkHeadParts(reader, spec.numHeads, spec.ranks.getHeadParts(),
                 keys::numHeads);
  rejectContextParallel(reader, spec, "iFlytekSpark");
}

} // namespace mf
