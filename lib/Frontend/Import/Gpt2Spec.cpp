//===- Gpt2Spec.cpp - GPT2Config ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "FamilyReaders.h"

namespace mf {

static Activation readGpt2Activation(SpecReader &reader) {
  const std::string activation = reader.readString(keys::activation, "gelu");
  if (activation == "fast_gelu")
    return Activation::FastGelu;
  if (activation != "gelu")
    reader.error(keys::activation,
                 "expected 'gelu' or 'fast_gelu' for {key}, but got " +
                     quote(activation));
  return Activation::Gelu;
}

/// Rejects options of GPT2Config that no published file uses.
static void rejectGpt2Variants(SpecReader &reader) {
  if (reader.readBool(keys::postNormResidual, false))
    reader.error(keys::postNormResidual,
                 "expected False for {key}: norms after the residual addition "
                 "are not supported");
}

static void readGpt2Sizes(SpecReader &reader, ModelSpec &spec) {
  spec.sequenceLength = reader.readSize(keys::sequenceLength, 1024);
  spec.vocabSize = reader.readSize(keys::vocabSize, 50257);
  spec.hiddenSize = reader.readSize(keys::hiddenSize, 768);
  spec.numLayers = reader.readSize(keys::numLayers, 12);
  spec.numHeads = reader.readSize(keys::numHeads, 12);
  spec.numKeyValueHeads = spec.numHeads;
  spec.headSize = divideHidden(reader, spec);
  const int64_t ratio = reader.readSize(keys::feedForwardRatio, 4);
  if (__builtin_mul_overflow(spec.hiddenSize, ratio, &spec.feedForwardSize))
    reader.error(keys::feedForwardRatio, "the feed forward size overflows");
  spec.padTokenId = reader.readInt(keys::padTokenId, 50256);
}

void readGpt2(SpecReader &reader, ModelSpec &spec) {
  spec.family = ModelFamily::Gpt2;
  readGpt2Sizes(reader, spec);
  rejectGpt2Variants(reader);
  spec.usesLayerNorm = true;
  spec.learnsPositions = true;
  spec.gatesFeedForward = false;
  spec.activation = readGpt2Activation(reader);
  spec.storesInputRows = true;
  spec.queryKeyValueBias = true;
  spec.attentionOutputBias = true;
  spec.feedForwardInputBias = true;
  spec.feedForwardOutputBias = true;
  spec.tiesWordEmbeddings = true;
  spec.scalesHeads = true;
  spec.usesFlashAttention = reader.readBool(keys::flashAttention, false);
  constexpr double rate = 0.1;
  spec.dropout.embedding = reader.readShare(keys::embeddingDropout, rate);
  spec.dropout.hidden = reader.readShare(keys::hiddenDropout, rate);
  spec.dropout.attention = reader.readShare(keys::attentionDropout, rate);

  spec.computeType = reader.readType(keys::computeType, DType::F16);
  spec.paramType = reader.readType(keys::paramType, DType::F32);
  spec.normType = reader.readType(keys::normType, DType::F32);
  spec.softmaxType = reader.readType(keys::softmaxType, DType::F32);
  // The tables are fp32 regardless of param_init_type.
  spec.embeddingType = DType::F32;
  spec.residualType = spec.computeType;
  if (spec.tableCut != VocabularyCut::None)
    spec.tableCut = VocabularyCut::Model;
  checkHeadParts(reader, spec.numHeads, spec.ranks.getHeadParts(),
                 keys::numHeads);
  rejectContextParallel(reader, spec, "GPT-2");
}

} // namespace mf
