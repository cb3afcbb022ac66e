//===- SpecLimits.cpp - Limits of a model's sizes -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "FamilyReaders.h"
#include <algorithm>
#include <initializer_list>

namespace mf {

namespace {
/// A sum of products that remembers whether it overflowed.
class CheckedSum {
public:
  void add(std::initializer_list<int64_t> factors) {
    int64_t product = 1;
    for (int64_t factor : factors)
      overflowed |= __builtin_mul_overflow(product, factor, &product);
    overflowed |= __builtin_add_overflow(sum, product, &sum);
  }
  std::optional<int64_t> get() const {
    return overflowed ? std::nullopt : std::optional<int64_t>(sum);
  }

private:
  int64_t sum = 0;
  bool overflowed = false;
};
} // namespace

static void addExperts(const ModelSpec &spec, CheckedSum &sum) {
  const ExpertSpec &experts = *spec.experts;
  int64_t hidden = spec.hiddenSize;
  sum.add({experts.numExperts, hidden}); // The router.
  sum.add({3, experts.numExperts, hidden, experts.width});
  if (experts.capacity && experts.capacity->hasBias)
    sum.add({experts.numExperts, hidden});
  sum.add({3, hidden, experts.sharedWidth});
  if (experts.gatesShared)
    sum.add({hidden});
}

/// Adds all parameters but those of the output projection.
static void addLatentAttention(const ModelSpec &spec,
                               const LatentAttentionSpec &latent,
                               CheckedSum &sum) {
  const int64_t hidden = spec.hiddenSize, heads = spec.numHeads;
  const int64_t fromQuery = latent.queryRank.value_or(hidden);
  if (latent.queryRank) {
    sum.add({hidden, fromQuery});
    if (latent.hasNorms)
      sum.add({fromQuery});
  }
  sum.add({fromQuery, heads, latent.getKeySize()});
  sum.add({hidden, latent.keyValueRank + latent.rotarySize});
  if (latent.hasNorms)
    sum.add({latent.keyValueRank});
  sum.add({latent.keyValueRank, heads, latent.plainSize + latent.valueSize});
}

/// Adds what compressed entries of `size` are made with.
static void addCompressor(const ModelSpec &spec, int64_t ratio, int64_t size,
                          CheckedSum &sum) {
  const int64_t channels =
      ratio == HybridAttentionSpec::indexedRatio ? 2 * size : size;
  sum.add({2, channels, spec.hiddenSize});
  sum.add({ratio, channels});
  sum.add({size});
}

/// Adds the attention of a layer whose entries pool `ratio` tokens.
static void addHybridAttention(const ModelSpec &spec, int64_t ratio,
                               CheckedSum &sum) {
  const HybridAttentionSpec &hybrid = *spec.hybrid;
  const int64_t hidden = spec.hiddenSize, heads = spec.numHeads,
                size = spec.headSize, rank = hybrid.queryRank;
  const int64_t latents = hybrid.outputGroups * hybrid.outputRank;
  sum.add({rank, hidden + 1});
  sum.add({heads, size, rank});
  sum.add({size, hidden + 1});
  sum.add({hybrid.outputRank, heads, size});
  sum.add({hidden, latents});
  sum.add({heads});
  if (hybrid.getNumEntries(ratio, spec.sequenceLength) == 0)
    return;
  addCompressor(spec, ratio, size, sum);
  if (!hybrid.hasIndexer(ratio))
    return;
  sum.add({hybrid.indexHeads, hybrid.indexSize, rank});
  sum.add({hybrid.indexHeads, hidden});
  addCompressor(spec, ratio, hybrid.indexSize, sum);
}

/// Adds the sites of all layers, and the ends of the streams.
static void addStreams(const ModelSpec &spec, CheckedSum &sum) {
  const HyperConnectionSpec &streams = *spec.streams;
  const int64_t depth = spec.nextTokens.depth, count = streams.streams,
                width = spec.getResidualSize();
  constexpr int64_t factors = 3;
  sum.add({2, spec.numLayers + depth, streams.getNumWeights(), width + 1});
  sum.add({2, spec.numLayers + depth, factors});
  if (streams.learnsCollapse) {
    sum.add({1 + depth, count, width + 1});
    sum.add({1 + depth});
  }
}

static std::optional<int64_t> getLayerParameterCount(const ModelSpec &spec,
                                                     bool hasExperts) {
  int64_t hidden = spec.hiddenSize;
  int64_t keyValue = spec.getKeyValueSize();
  CheckedSum sum;
  sum.add({spec.usesLayerNorm ? 4 : 2, hidden}); // Norms.
  if (spec.latent) {
    addLatentAttention(spec, *spec.latent, sum);
  } else if (!spec.hybrid) {
    sum.add({hidden, spec.getQuerySize()});
    sum.add({2, hidden, keyValue});
  }
  if (!spec.hybrid)
    sum.add({spec.getAttendedSize(), hidden});
  if (hasExperts)
    addExperts(spec, sum);
  else
    sum.add({spec.gatesFeedForward ? 3 : 2, hidden, spec.feedForwardSize});
  if (spec.feedForwardInputBias && !hasExperts)
    sum.add({spec.gatesFeedForward ? 2 : 1, spec.feedForwardSize});
  if (spec.queryKeyValueBias) {
    sum.add({spec.getQuerySize()});
    sum.add({2, keyValue});
  }
  if (spec.attentionOutputBias)
    sum.add({hidden});
  if (spec.feedForwardOutputBias && !hasExperts)
    sum.add({hidden});
  if (spec.normalizesQueryKey)
    sum.add({2, spec.headSize});
  return sum.get();
}

std::optional<int64_t> getParameterCount(const ModelSpec &spec) {
  const int64_t depth = spec.nextTokens.depth;
  int64_t withExperts = 0;
  for (int64_t i = 0; spec.experts && i < spec.numLayers + depth; ++i)
    withExperts += spec.hasExperts(i);
  CheckedSum sum;
  for (bool hasExperts : {false, true}) {
    int64_t numLayers =
        hasExperts ? withExperts : spec.numLayers + depth - withExperts;
    if (numLayers == 0)
      continue;
    std::optional<int64_t> layer = getLayerParameterCount(spec, hasExperts);
    if (!layer)
      return std::nullopt;
    sum.add({numLayers, *layer});
  }
  if (spec.hybrid)
    for (int64_t ratio : spec.hybrid->ratios)
      addHybridAttention(spec, ratio, sum);
  if (spec.streams)
    addStreams(spec, sum);
  // After the model: the joining projections and three norms per depth.
  sum.add({depth, 2, spec.hiddenSize, spec.hiddenSize});
  sum.add({depth, 3, spec.hiddenSize});
  sum.add({spec.vocabSize, spec.hiddenSize});
  if (!spec.tiesWordEmbeddings)
    sum.add({spec.vocabSize, spec.hiddenSize});
  if (spec.learnsPositions)
    sum.add({spec.sequenceLength, spec.hiddenSize});
  sum.add({spec.usesLayerNorm ? 2 : 1, spec.hiddenSize});
  return sum.get();
}

void rejectExperts(const Node &model, llvm::StringRef where,
                   DiagnosticList &diagnostics) {
  for (const Node &section : {model, model["moe_config"]})
    for (llvm::StringRef name : keys::numExperts.getAllNames()) {
      Node count = section[name];
      if (count.getInt().value_or(0) <= 1)
        continue;
      diagnostics.error(count.getLocation(), "expected experts (here " +
                                                 count.repr() + ") " + where);
      return;
    }
}

void rejectLatentAttention(const Node &model, DiagnosticList &diagnostics) {
  // Then other keys of latent attention have no effect.
  if (!keys::multiLatentAttention.find(model).getBool().value_or(true))
    return;
  for (const ModelKey *key :
       {&keys::keyValueRank, &keys::multiLatentAttention}) {
    Node latent = key->find(model);
    if (latent.isUndefinedOrNull())
      continue;
    diagnostics.error(latent.getLocation(),
                      "multi-head latent attention (" + quote(key->getName()) +
                          ") is not supported here; expected DeepseekV2, "
                          "DeepseekV3 or TeleChat3, or a model with query, key "
                          "and value projections");
    return;
  }
}

/// Adds the elements of the tensors of a layer with experts, many times over.
static void addExpertTensors(const ModelSpec &spec, CheckedSum &elements) {
  constexpr int64_t room = 64;
  const ExpertSpec &experts = *spec.experts;
  int64_t width =
      std::max({spec.hiddenSize, 2 * experts.width, experts.numExperts});
  elements.add({room, experts.numRows, experts.getNumChoices(), width});
  if (experts.capacity)
    elements.add({room, experts.numExperts, experts.numRows,
                  experts.capacity->places + 1, width});
  else
    elements.add({room, experts.numRows, experts.numParts,
                  experts.getNumChoices() + experts.numExperts, width});
  elements.add({room, spec.microBatchSize, spec.sequenceLength,
                2 * experts.sharedWidth});
}

/// Adds the elements of the tensors of a layer with hybrid attention, many
/// times over.
static void addHybridTensors(const ModelSpec &spec, CheckedSum &elements) {
  constexpr int64_t room = 64;
  const HybridAttentionSpec &hybrid = *spec.hybrid;
  const int64_t length = spec.sequenceLength;
  int64_t keys = std::min(hybrid.window, length);
  for (int64_t ratio : hybrid.ratios)
    keys = std::max(keys, hybrid.getNumEntries(ratio, length));
  elements.add({room, spec.microBatchSize, length, keys,
                std::max({spec.headSize, spec.numHeads, hybrid.indexHeads})});
}

/// Rejects sizes far above those of any real model. Otherwise they would cause
/// out-of-memory errors, which do not name a key.
static bool checkSizes(const SpecReader &reader, const ModelSpec &spec) {
  // Feed forwards are 2 to 10 times as wide as their input, but models for
  // tests may be narrow.
  const int64_t widest = std::max<int64_t>(64 * spec.hiddenSize, 1 << 16);
  const size_t errors = reader.diagnostics.getErrorCount();
  auto check = [&](const SpecReader::Keys &keys, llvm::StringRef unit,
                   int64_t size, int64_t largest) {
    if (size > largest)
      reader.error(keys, "expected at most " + llvm::Twine(largest) + " " +
                             unit + ", but got " + llvm::Twine(size));
  };
  auto findWritten = [&](llvm::ArrayRef<const ModelKey *> keys) {
    const auto *found = llvm::find_if(keys, [&](const ModelKey *key) {
      return !key->find(reader.getNode()).isUndefinedOrNull();
    });
    return found == keys.end() ? SpecReader::Keys(*keys.front())
                               : SpecReader::Keys(**found);
  };
  check(keys::numLayers, "layers", spec.numLayers, 10000);
  check(keys::hiddenSize, "elements per token", spec.hiddenSize, 1 << 20);
  check(keys::vocabSize, "tokens in a vocabulary", spec.vocabSize, 1 << 25);
  check(findWritten({&keys::sequenceLength, &keys::maxPositions}),
        "tokens in a sequence", spec.sequenceLength, 1 << 28);
  const std::string width = "elements in a feed forward with hidden_size " +
                            std::to_string(spec.hiddenSize);
  check(findWritten({&keys::feedForwardSize, &keys::feedForwardMultiplier,
                     &keys::feedForwardRatio}),
        width, spec.feedForwardSize, widest);
  return reader.diagnostics.getErrorCount() == errors;
}

void checkLimits(const SpecReader &reader, const ModelSpec &spec) {
  if (!checkSizes(reader, spec))
    return;
  // 64 bytes per element leave room for an optimizer's states and for sums
  // over all tensors.
  constexpr int64_t room = 64;
  CheckedSum bytes;
  bytes.add({room, getParameterCount(spec).value_or(INT64_MAX)});
  CheckedSum heads;
  heads.add({spec.numHeads, spec.headSize});
  heads.add({2, spec.numKeyValueHeads, spec.headSize});
  int64_t width =
      std::max({spec.vocabSize, spec.hiddenSize, 2 * spec.feedForwardSize,
                heads.get().value_or(INT64_MAX)});
  bytes.add({room, spec.microBatchSize, spec.sequenceLength, width});
  // The head sees the tokens of all depths.
  bytes.add({room, spec.microBatchSize, spec.sequenceLength, width,
             spec.nextTokens.depth});
  if (!spec.usesFlashAttention)
    bytes.add({room, spec.microBatchSize, spec.numHeads, spec.sequenceLength,
               spec.sequenceLength});
  if (spec.streams)
    bytes.add({room, spec.microBatchSize, spec.sequenceLength,
               spec.getResidualSize()});
  if (spec.hybrid)
    addHybridTensors(spec, bytes);
  if (spec.experts)
    addExpertTensors(spec, bytes);
  if (!bytes.get())
    reader.diagnostics.error(reader.getNode().getLocation(),
                             "the model is too large: the size of its tensors "
                             "in bytes overflows 64 bits");
}

} // namespace mf
