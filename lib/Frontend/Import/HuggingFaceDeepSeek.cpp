//===- HuggingFaceDeepSeek.cpp - config.json of DeepSeek-V2 and V3 --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// These models are read as models of the mcore training graph, whose weights
// have the same meaning: adjacent dimensions are rotated as a pair, and the
// layers that predict more tokens read the hidden state after the last norm.
// The amplitude of the tables and the scale of the scores are those of the
// published classes.
//
//===----------------------------------------------------------------------===//

#include "FamilyReaders.h"
#include "HuggingFaceExperts.h"
#include <cmath>

namespace mf {

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
    reader.error(keys::queryKeyValueBias, "expected false for {key}: latent "
                                          "attention has no biases");
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
  SpecReader inner(scaling, "rope_scaling", reader.diagnostics, reader.naming);
  std::string kind = inner.readString({"rope_type", "type"}, "default");
  if (kind == "default")
    return;
  if (kind != "yarn") {
    reader.diagnostics.error(inner.locate({"rope_type", "type"}),
                             "expected yarn for the type of 'rope_scaling', "
                             "but got " +
                                 quote(kind));
    return;
  }
  YarnSpec yarn;
  yarn.factor = inner.readPositive({"factor"}, 1.0);
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
  reader.error(key, "expected 0 or 1 for {key}, "
                    "but got " +
                        llvm::Twine(next.depth));
  next.depth = 0;
}

static void readLatentModel(SpecReader &reader, ModelSpec &spec) {
  spec.family = ModelFamily::Mcore;
  spec.concatenatesFeedForward = true;
  readSizes(reader, spec);
  readRotary(reader, spec);
}

void readHuggingFaceDeepSeek2(SpecReader &reader, ModelSpec &spec) {
  readLatentModel(reader, spec);
  readDeepSeek2Experts(reader, spec);
}

void readHuggingFaceDeepSeek3(SpecReader &reader, ModelSpec &spec) {
  readLatentModel(reader, spec);
  readDeepSeek3Experts(reader, spec);
  readNextTokenLayers(reader, spec);
}

} // namespace mf
