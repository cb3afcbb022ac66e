//===- DeepSeekSpec.cpp - DeepseekV2Config and DeepseekV3Config -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "FamilyReaders.h"
#include <cmath>

namespace mf {

void setLatentHeads(ModelSpec &spec) {
  spec.numKeyValueHeads = spec.numHeads;
  spec.headSize = spec.latent->getKeySize();
}

void checkLatentHeads(SpecReader &reader, const ModelSpec &spec,
                      const SpecReader::Keys &heads) {
  if (spec.latent->rotarySize % 2 != 0)
    reader.error(keys::rotaryHeadSize,
                 "rotary embedding needs an even {key}, but got " +
                     llvm::Twine(spec.latent->rotarySize));
  checkHeadParts(reader, spec.numHeads, spec.ranks.getHeadParts(), heads);
}

/// The class pads values with zeros of the width of the rotated dimensions.
static void readPadding(SpecReader &reader, ModelSpec &spec) {
  LatentAttentionSpec &latent = *spec.latent;
  const bool isRagged = reader.readBool(keys::raggedAttention, false);
  latent.padsValues = !isRagged;
  if (spec.usesFlashAttention && latent.padsValues &&
      latent.valueSize != latent.plainSize)
    reader.error(
        keys::valueHeadSize,
        "expected " + llvm::Twine(latent.plainSize) +
            " for {key}, as for 'qk_nope_head_dim', but got " +
            llvm::Twine(latent.valueSize) +
            ": flash attention gets values padded by qk_rope_head_dim; set "
            "enable_fa_var_len: True for others");
}

/// Returns the factor by which scaling_factor, for a longer context, scales the
/// scores before the softmax.
static double readSharpness(SpecReader &reader) {
  Node scaling = keys::scalingFactor.find(reader.getNode());
  if (!scaling.isMap())
    return 1.0;
  const double factor = scaling["factor"].getFloat().value_or(1.0);
  const double scale =
      keys::mscaleAllDim.find(scaling).getFloat().value_or(0.0);
  const double sharpness = getYarnScale(factor, scale);
  return scale == 0 ? 1.0 : sharpness * sharpness;
}

static void readLatentAttention(SpecReader &reader, ModelSpec &spec) {
  LatentAttentionSpec &latent = spec.latent.emplace();
  latent.layout = LatentLayout::Separate;
  latent.queryRank = reader.readSize(keys::queryRank, std::nullopt);
  latent.keyValueRank = reader.readSize(keys::keyValueRank, std::nullopt);
  latent.plainSize = reader.readSize(keys::plainHeadSize, std::nullopt);
  latent.rotarySize = reader.readSize(keys::rotaryHeadSize, std::nullopt);
  latent.valueSize = reader.readSize(keys::valueHeadSize, std::nullopt);
  latent.rotatesCopies = true;
  reader.markRead(keys::numKeyValueHeads);
  setLatentHeads(spec);
  readPadding(reader, spec);
  readRotary(reader, spec, keys::rotaryBase, latent.rotarySize, "YARN");
  latent.scale = readSharpness(reader) /
                 std::sqrt(static_cast<double>(latent.getKeySize()));
  checkLatentHeads(reader, spec, keys::numHeads);
}

static void readNextTokens(SpecReader &reader, ModelSpec &spec) {
  NextTokenSpec &next = spec.nextTokens;
  next.joinsHeads = true;
  next.depth = reader.readInt(keys::nextTokenLayers, 0);
  next.lossFactor = reader.readPositive(keys::nextTokenLossFactor, 0.3);
  if (next.depth >= 0 && next.depth < spec.sequenceLength)
    return;
  reader.error(keys::nextTokenLayers,
               "expected from 0 to fewer than the " +
                   llvm::Twine(spec.sequenceLength) +
                   " tokens of a sequence for {key}, but got " +
                   llvm::Twine(next.depth));
  next.depth = 0;
}

void readDeepSeek(SpecReader &reader, ModelSpec &spec) {
  spec.family = ModelFamily::DeepSeek;
  spec.sequenceLength = reader.readSize(keys::sequenceLength, 2048);
  spec.vocabSize = reader.readSize(keys::vocabSize, std::nullopt);
  spec.hiddenSize = reader.readSize(keys::hiddenSize, std::nullopt);
  spec.numLayers = reader.readSize(keys::numLayers, std::nullopt);
  spec.numHeads = reader.readSize(keys::numHeads, std::nullopt);
  spec.feedForwardSize = reader.readSize(keys::feedForwardSize, std::nullopt);
  reader.markRead(keys::feedForwardMultiple);
  spec.padTokenId = reader.readInt(keys::padTokenId, 0);
  spec.ignoreTokenId = reader.readInt(keys::ignoreTokenId, -100);
  spec.normEpsilon = reader.readPositive(keys::normEpsilon, 1e-5);
  spec.tiesWordEmbeddings = reader.readBool(keys::tieWordEmbeddings, false);
  spec.usesFlashAttention = reader.readBool(keys::flashAttention, false);
  spec.initializerRange = reader.readPositive(keys::initializerRange, 0.006);
  spec.parallelOptimizerTable = true;
  readElementTypes(reader, spec);
  readLatentAttention(reader, spec);
  readNextTokens(reader, spec);
}

} // namespace mf
