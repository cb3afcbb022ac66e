//===- DeepSeek4Spec.cpp - Streams and hybrid attention of DeepSeek-V4 ----===//
// SPDX-License-Identifier: Apache-2.0

#include "ExpertReader.h"
#include "FamilyReaders.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

namespace mf {

using Keys = SpecReader::Keys;

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

/// The kernels of CANN for streams have no other numbers.
static void checkFusedStreams(SpecReader &reader, ModelSpec &spec) {
  const ModelKey &fused = keys::fusedStreams;
  HyperConnectionSpec &streams = *spec.streams;
  streams.isFused = reader.readBool(fused, false);
  if (!streams.isFused)
    return;
  auto check = [&](bool holds, const Keys &keys, const llvm::Twine &wanted,
                   int64_t got) {
    if (!holds)
      reader.error(keys, "the fused kernels of hyper-connections (" +
                             quote(keys::fusedStreams.getName()) + ") expect " +
                             wanted + ", but got " + llvm::Twine(got));
  };
  check(streams.streams == 4, keys::residualStreams, "4 streams ({key})",
        streams.streams);
  check(streams.iterations == 20, keys::streamIterations,
        "20 iterations ({key})", streams.iterations);
  check(spec.hiddenSize % 128 == 0, keys::hiddenSize,
        "a multiple of 128 for {key}", spec.hiddenSize);
}

void readStreams(SpecReader &reader, ModelSpec &spec) {
  const bool isOn = reader.readBool(keys::hyperConnections, true);
  const ModelKey &collapse = keys::streamsHead;
  const bool learnsCollapse = reader.readBool(collapse, isOn);
  if (learnsCollapse && !isOn)
    reader.error(collapse, collapse.getName() + " requires " +
                               keys::hyperConnections.getName() +
                               " to be enabled; set both or neither");
  HyperConnectionSpec streams;
  streams.learnsCollapse = learnsCollapse;
  streams.streams = reader.readSize(keys::residualStreams, streams.streams);
  const ModelKey &iterations = keys::streamIterations;
  if (Node value = reader.find(iterations)) {
    constexpr int64_t mostIterations = 1000;
    streams.iterations =
        value.isInt() ? value.getInt().value_or(-1) : int64_t(-1);
    if (streams.iterations < 0 || streams.iterations > mostIterations)
      reader.error(
          iterations,
          "mhc_sinkhorn_iterations should be a non-negative integer, but get " +
              value.repr(60) + "; expected 0 to " +
              llvm::Twine(mostIterations) + " for {key}");
  }
  streams.epsilon = reader.readPositive(keys::streamEpsilon, streams.epsilon);
  streams.initialFactor =
      reader.readNumber(keys::streamGate).value_or(streams.initialFactor);
  streams.initializerRange = spec.initializerRange;
  constexpr int64_t mostStreams = 64;
  if (streams.streams > mostStreams)
    reader.error(keys::residualStreams, "expected at most " +
                                            llvm::Twine(mostStreams) +
                                            " streams for {key}, but got " +
                                            llvm::Twine(streams.streams));
  if (!isOn) {
    reader.markRead(keys::fusedStreams);
    return;
  }
  spec.streams = streams;
  checkFusedStreams(reader, spec);
}

//===----------------------------------------------------------------------===//
// Hybrid attention
//===----------------------------------------------------------------------===//

/// Reads the tokens of a group of each layer.
static void readRatios(SpecReader &reader, const ModelSpec &spec,
                       HybridAttentionSpec &hybrid) {
  const ModelKey &keys = keys::compressRatios;
  const int64_t layers = spec.numLayers + spec.nextTokens.depth;
  constexpr int64_t defaultLayers = 61;
  Node list = reader.find(keys);
  if (!list) {
    hybrid.ratios.assign(defaultLayers, 128);
    hybrid.ratios.push_back(0);
  } else if (!list.isList()) {
    reader.error(keys,
                 "expected a list of one number per layer for {key}, but got " +
                     list.repr(60));
    hybrid.ratios.assign(static_cast<size_t>(std::max<int64_t>(layers, 0)), 0);
    return;
  } else {
    for (const Node &element : list.getElements()) {
      const int64_t ratio = element.getInt().value_or(-1);
      if (element.isInt() && (ratio == 0 || ratio == 4 || ratio == 128)) {
        hybrid.ratios.push_back(ratio);
        continue;
      }
      reader.diagnostics.error(
          element.getLocation(),
          "Each entry in csa_compress_ratios must be one of {0, 4, 128}, got " +
              element.repr(60) + " in " + list.repr(60));
      hybrid.ratios.push_back(0);
    }
  }
  const int64_t sharing = spec.ranks.contextParallel;
  for (int64_t ratio : {int64_t(4), int64_t(128)})
    if (sharing > 1 && spec.sequenceLength % (sharing * ratio) != 0 &&
        llvm::is_contained(hybrid.ratios, ratio))
      reader.error(
          keys, "ranks that share a sequence need parts of whole groups, but " +
                    llvm::Twine(spec.sequenceLength) + " tokens (" +
                    quote(keys::sequenceLength.getName()) + ") over " +
                    known::nameOf(&ParallelConfig::contextParallel) + " " +
                    llvm::Twine(sharing) + " do not divide into groups of " +
                    llvm::Twine(ratio) + " ({key})");
  for (int64_t ratio : {int64_t(4), int64_t(128)})
    if (ratio > spec.sequenceLength && llvm::is_contained(hybrid.ratios, ratio))
      reader.warn(keys, "layers of ratio " + llvm::Twine(ratio) +
                            " have no entries in sequences of " +
                            llvm::Twine(spec.sequenceLength) + " tokens (" +
                            quote(keys::sequenceLength.getName()) +
                            "): their attention is that of the window, and "
                            "they have no compressor");
  if (static_cast<int64_t>(hybrid.ratios.size()) == layers)
    return;
  reader.error(keys, "csa_compress_ratios length must equal num_layers + "
                     "(mtp_num_layers or 0) = " +
                         llvm::Twine(layers) + ", got " +
                         llvm::Twine(hybrid.ratios.size()) + "; set {key}");
  hybrid.ratios.resize(static_cast<size_t>(std::max<int64_t>(layers, 0)), 0);
}

static void readHeads(SpecReader &reader, ModelSpec &spec,
                      HybridAttentionSpec &hybrid) {
  const ModelKey &turned = keys::rotaryHeadSize;
  const ModelKey &size = keys::valueHeadSize;
  hybrid.rotarySize = reader.readSize(turned, 64);
  spec.headSize = reader.readSize(size, 128);
  spec.numKeyValueHeads = 1;
  const int64_t all = reader.readSize(keys::headSize, 512);
  const int64_t plain =
      reader.readInt(keys::plainHeadSize, all - hybrid.rotarySize);
  if (plain + hybrid.rotarySize != spec.headSize)
    reader.error(size, "DSv4 hybrid requires qk_head_dim + qk_pos_emb_head_dim "
                       "== v_head_dim, got " +
                           llvm::Twine(plain) + " + " +
                           llvm::Twine(hybrid.rotarySize) +
                           " != " + llvm::Twine(spec.headSize) + "; set {key}");
  if (hybrid.rotarySize % 2 != 0)
    reader.error(turned, "rotary embedding needs an even {key}, but got " +
                             llvm::Twine(hybrid.rotarySize));
  if (hybrid.rotarySize > spec.headSize)
    reader.error(turned, "expected at most the " + llvm::Twine(spec.headSize) +
                             " dimensions of a head (" + quote(size.getName()) +
                             ") for {key}, but got " +
                             llvm::Twine(hybrid.rotarySize));
  hybrid.queryRank = reader.readSize(keys::queryRank, 1536);
  hybrid.outputRank = reader.readSize(keys::outputRank, 1024);
  const ModelKey &groups = keys::outputGroups;
  hybrid.outputGroups = reader.readSize(groups, 16);
  const int64_t width = spec.numHeads * spec.headSize;
  const int64_t ranks = spec.ranks.modelParallel;
  const std::string allHeads =
      (reader.nameOf(keys::numHeads) + " * " + size.getName() + " (").str();
  if (width % ranks != 0)
    reader.error(keys::numHeads, allHeads + llvm::Twine(width) +
                                     ") must be divisible by the TP degree (" +
                                     llvm::Twine(ranks) +
                                     "), over which linear_q_up_proj is cut");
  if (width % hybrid.outputGroups != 0)
    reader.error(groups, allHeads + llvm::Twine(width) +
                             ") must be divisible by " + groups.getName() +
                             " (" + llvm::Twine(hybrid.outputGroups) + ")");
  hybrid.window = reader.readSize(keys::slidingWindow, 128);
  // All heads share one of keys and values.
  readUnused(reader, keys::queryKeyValueBias, "False", "on hybrid attention");
  const ModelKey &groupHeads = keys::numKeyValueHeads;
  if (Node heads = reader.find(groupHeads); heads.getInt().value_or(1) != 1)
    reader.warn(groupHeads,
                "{key} has no effect on hybrid attention, which has one");
  reader.markRead(
      {keys::keyValueRank, keys::queryKeyNorms, keys::mlaQkvConcat});
}

static void readIndexer(SpecReader &reader, HybridAttentionSpec &hybrid) {
  hybrid.seesAllEntries = reader.readBool(keys::seesAllEntries, false);
  hybrid.indexHeads = reader.readSize(keys::indexerHeads, 64);
  const ModelKey &size = keys::indexerHeadSize;
  hybrid.indexSize = reader.readSize(size, 128);
  hybrid.numChosen = reader.readSize(keys::indexerChoices, 1024);
  reader.markRead(keys::indexerSparseLoss);
  const ModelKey &factor = keys::indexerLossFactor;
  const bool isGiven = static_cast<bool>(reader.find(factor));
  hybrid.indexLossFactor = reader.readNumber(factor).value_or(0);
  const bool hasIndexer = llvm::any_of(
      hybrid.ratios, [&](int64_t ratio) { return hybrid.hasIndexer(ratio); });
  if (!hasIndexer)
    return;
  if (!isGiven)
    reader.error(
        factor,
        "a layer with an indexer needs the factor of its loss, {key}, without "
        "which the trainer has a TypeError; expected a number, such as 0");
  const auto width = static_cast<uint64_t>(hybrid.indexSize);
  if (!llvm::isPowerOf2_64(width))
    reader.error(
        size,
        "the indexer's transform needs a power of two for {key}, but got " +
            llvm::Twine(width));
  if (hybrid.indexSize < hybrid.rotarySize)
    reader.error(size, "expected at least the " +
                           llvm::Twine(hybrid.rotarySize) +
                           " dimensions that are rotated (" +
                           quote(keys::rotaryHeadSize.getName()) +
                           ") for {key}, but got " + llvm::Twine(width));
}

/// The kernels of CANN for this attention have no other numbers.
static void checkFusedAttention(SpecReader &reader, const ModelSpec &spec,
                                HybridAttentionSpec &hybrid) {
  const ModelKey &fused = keys::fusedSparseAttention;
  hybrid.isFused = reader.readBool(fused, true);
  if (!hybrid.isFused)
    return;
  const std::string unfuse = ("; or set " + fused.getName() + ": False").str();
  if (hybrid.window != 128)
    reader.error(keys::slidingWindow,
                 "CompressedSparseAttention with fused kernels only supports "
                 "csa_window_size=128, but got csa_window_size=" +
                     llvm::Twine(hybrid.window) + unfuse);
  auto check = [&](bool holds, const Keys &keys, const llvm::Twine &wanted,
                   int64_t got) {
    if (!holds)
      reader.error(keys, "the fused kernels of hybrid attention expect " +
                             wanted + ", but got " + llvm::Twine(got) + unfuse);
  };
  auto isPower = [](int64_t number) {
    return llvm::isPowerOf2_64(static_cast<uint64_t>(number));
  };
  check(spec.headSize == 512, keys::valueHeadSize, "a {key} of 512",
        spec.headSize);
  check(isPower(spec.numHeads) && spec.numHeads <= 128, keys::numHeads,
        "a power of two up to 128 for {key}", spec.numHeads);
  // Other chips may have kernels that do more.
  const std::string onDevices =
      " on Atlas A2 and A3, where the trainer fails and mf-translate "
      "--ascend-to-cpp writes no program; apply_dsa_kernel_fusion: False "
      "selects single operators";
  if (hybrid.seesAllEntries &&
      llvm::is_contained(hybrid.ratios, HybridAttentionSpec::indexedRatio))
    reader.warn(keys::seesAllEntries, "with 'csa_dense_mode' CANN 9.1 has no "
                                      "fused kernels for layers of ratio 4" +
                                          onDevices);
  if (llvm::any_of(hybrid.ratios,
                   [&](int64_t ratio) { return hybrid.hasIndexer(ratio); })) {
    const int64_t chosen = hybrid.numChosen;
    if (chosen > 1024)
      reader.warn(keys::indexerChoices, "CANN 9.1 has fused kernels for an "
                                        "'index_topk' up to 1024, but got " +
                                            llvm::Twine(chosen) + "," +
                                            onDevices);
    check(isPower(hybrid.indexHeads) && hybrid.indexHeads >= 8 &&
              hybrid.indexHeads <= 64,
          keys::indexerHeads, "8, 16, 32 or 64 for {key}", hybrid.indexHeads);
    check(hybrid.indexSize == 128, keys::indexerHeadSize, "an {key} of 128",
          hybrid.indexSize);
    check(chosen <= 2048 || (chosen <= 8192 && chosen % 1024 == 0),
          keys::indexerChoices,
          "an {key} up to 2048, or a multiple of 1024 up to 8192", chosen);
    check(spec.sequenceLength >= HybridAttentionSpec::indexedRatio,
          keys::sequenceLength,
          "sequences of at least 4 tokens for layers of ratio 4",
          spec.sequenceLength);
  }
  if (spec.computeType == DType::F32)
    reader.warn(keys::computeType,
                "the trainer's fused kernels of hybrid attention (" +
                    quote(fused.getName()) +
                    ") take bfloat16 or float16 only: with float32 the trainer "
                    "fails and mf-translate --ascend-to-cpp writes no program");
}

/// Layers with entries rotate with waves that are stretched, whatever
/// position_embedding_type says.
/// Gives both dimensions of a pair of neighbours their frequency.
static void repeatForNeighbours(RotarySpec &rotary) {
  const std::vector<double> known = std::move(rotary.frequencies);
  rotary.frequencies.clear();
  for (int64_t i = 0; i < rotary.size / 2; ++i) {
    const double frequency =
        known.empty()
            ? std::pow(rotary.base, -2 * static_cast<double>(i) /
                                        static_cast<double>(rotary.size))
            : known[static_cast<size_t>(i)];
    rotary.frequencies.insert(rotary.frequencies.end(), 2, frequency);
  }
}

static void readEntryRotary(SpecReader &reader, HybridAttentionSpec &hybrid) {
  YarnSpec yarn;
  yarn.factor = reader.readPositive(keys::rotaryScalingFactor, 40.0);
  yarn.length = reader.readPositive(keys::originalMaxPositions, 4096.0);
  yarn.betaFast = reader.readPositive(keys::betaFast, 32.0);
  yarn.betaSlow = reader.readPositive(keys::betaSlow, 1.0);
  Node scaling = reader.readMap(keys::ropeScaling);
  if (scaling.isMap()) {
    SpecReader inner(scaling, keys::ropeScaling.getName(), reader.diagnostics,
                     reader.naming);
    yarn.factor = inner.readPositive(keys::ropeFactor, yarn.factor);
    yarn.betaFast = inner.readPositive(keys::betaFast, yarn.betaFast);
    yarn.betaSlow = inner.readPositive(keys::betaSlow, yarn.betaSlow);
  }
  RotarySpec &rotary = hybrid.entryRotary;
  const ModelKey &base = keys::compressedRotaryBase;
  rotary.size = hybrid.rotarySize;
  rotary.base = reader.readPositive(base, 160000.0);
  if (rotary.base <= 1)
    reader.error(base, "expected a number above 1 for {key}");
  setYarnFrequencies(yarn, rotary);
  repeatForNeighbours(rotary);
  reader.markRead({keys::mscale, keys::mscaleAllDim, keys::maxPositions,
                   keys::positionType});
}

void readHybridAttention(SpecReader &reader, ModelSpec &spec) {
  HybridAttentionSpec hybrid;
  const ModelKey &latent = keys::multiLatentAttention;
  if (!reader.readBool(latent, true))
    reader.error(latent, "When " + keys::attentionVariant.getName() +
                             " == 'dsv4_hybrid', " + latent.getName() +
                             " must be True");
  readHeads(reader, spec, hybrid);
  readRatios(reader, spec, hybrid);
  readIndexer(reader, hybrid);
  checkFusedAttention(reader, spec, hybrid);
  readEntryRotary(reader, hybrid);
  spec.rotary.size = hybrid.rotarySize;
  spec.rotary.base = reader.readPositive(keys::rotaryBase, 10000.0);
  repeatForNeighbours(spec.rotary);
  // There is one form of this attention.
  spec.usesFlashAttention = true;
  if (reader.readBool(keys::resetsDocuments, false))
    spec.documentEnd = reader.readInt(keys::eodTokenId, 0);
  // Attention drops no probabilities.
  spec.dropout.attention = 0;
  spec.hybrid = hybrid;
}

} // namespace mf
