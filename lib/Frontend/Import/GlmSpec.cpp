//===- GlmSpec.cpp - GLMConfig --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "FamilyReaders.h"
#include <cmath>

namespace mf {

/// Rejects options of GLMConfig that no published file uses.
static void rejectGlmVariants(SpecReader &reader) {
  const std::string activation = reader.readString(keys::activation, "GELU");
  if (activation != "GELU")
    reader.error(keys::activation,
                 "expected 'GELU' for {key}, but got " + quote(activation));
  const std::string order = reader.readString(keys::layernormOrder, "post");
  if (order == "sandwich")
    reader.error(keys::layernormOrder, "expected 'post' for {key}: layers "
                                       "with four norms are not supported");
  for (const ModelKey *key : {&keys::positions2d, &keys::finalNorm})
    if (!reader.readBool(*key, true))
      reader.error(*key, "expected True for " + quote(reader.nameOf(*key)) +
                             ": a model without is not supported");
}

static void readGlmSizes(SpecReader &reader, ModelSpec &spec) {
  spec.sequenceLength = reader.readSize(keys::sequenceLength, 512);
  spec.vocabSize = reader.readSize(keys::vocabSize, 130528);
  spec.hiddenSize = reader.readSize(keys::hiddenSize, 4096);
  spec.numLayers = reader.readSize(keys::numLayers, 28);
  spec.numHeads = reader.readSize(keys::numHeads, 32);
  spec.numKeyValueHeads = spec.numHeads;
  spec.headSize = divideHidden(reader, spec);
  if (std::optional<int64_t> size = reader.readOptionalSize(keys::headSize))
    spec.headSize = *size;
  spec.feedForwardSize = reader.readSize(keys::feedForwardSize, 16384);
  if (spec.headSize % 4 != 0)
    reader.error(keys::numHeads,
                 "expected a multiple of 4 dimensions per head, "
                 "but there are " +
                     llvm::Twine(spec.headSize));
  spec.padTokenId = reader.readInt(keys::padTokenId, 3);
  spec.prefixEnd = reader.readInt(keys::bosTokenId, 130004);
  spec.normEpsilon = reader.readPositive(keys::normEpsilon, 1e-5);
  reader.markRead({keys::maskTokenId, keys::isEnhancedEncoder});
}

static void readGlmTypes(SpecReader &reader, ModelSpec &spec) {
  spec.computeType = reader.readType(keys::computeType, DType::F16);
  spec.paramType = reader.readType(keys::paramType, DType::F16);
  spec.normType = reader.readType(keys::normType, DType::F32);
  spec.softmaxType = reader.readType(keys::softmaxType, DType::F32);
  spec.headType = spec.computeType;
  spec.rotaryType = spec.computeType;
  // The table, and thus the residual stream, is fp32 regardless of the keys.
  spec.embeddingType = DType::F32;
  spec.residualType = DType::F32;
}

void readGlm(SpecReader &reader, ModelSpec &spec) {
  spec.family = ModelFamily::Glm;
  readGlmSizes(reader, spec);
  rejectGlmVariants(reader);
  spec.usesLayerNorm = true;
  spec.castsNormInput = false;
  spec.residualScale = std::sqrt(2.0 * static_cast<double>(spec.numLayers));
  spec.projections = ProjectionLayout::QueryKeyValue;
  spec.gatesFeedForward = false;
  spec.activation = Activation::Gelu;
  spec.widensActivation = true;
  spec.queryKeyValueBias = true;
  spec.attentionOutputBias = true;
  spec.feedForwardInputBias = true;
  spec.feedForwardOutputBias = true;
  spec.scalesByLayer = true;
  spec.rotary.isTwoDimensional = true;
  spec.rotary.size = spec.headSize / 2;
  spec.dropout.embedding = reader.readShare(keys::embeddingDropout);
  spec.dropout.hidden = reader.readShare(keys::hiddenDropout);
  spec.dropout.attention = reader.readShare(keys::attentionDropout);
  readGlmTypes(reader, spec);
  if (spec.tableCut != VocabularyCut::None)
    spec.tableCut = VocabularyCut::Model;
  checkHeadParts(reader, spec.numHeads, spec.ranks.getHeadParts(),
                 keys::numHeads);
  rejectContextParallel(reader, spec, "GLM");
}

} // namespace mf
