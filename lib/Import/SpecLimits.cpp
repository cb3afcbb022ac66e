//===- SpecLimits.cpp - Sizes a model may have ----------------------------===//

#include "SpecLimits.h"
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

/// All but the output projection.
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

static std::optional<int64_t> getLayerParameterCount(const ModelSpec &spec) {
  int64_t hidden = spec.hiddenSize;
  int64_t keyValue = spec.getKeyValueSize();
  CheckedSum sum;
  sum.add({2, hidden}); // norms
  if (spec.latent) {
    addLatentAttention(spec, *spec.latent, sum);
  } else {
    sum.add({hidden, spec.getQuerySize()});
    sum.add({2, hidden, keyValue});
  }
  sum.add({spec.getAttendedSize(), hidden});
  sum.add({3, hidden, spec.feedForwardSize});
  if (spec.queryKeyValueBias) {
    sum.add({spec.getQuerySize()});
    sum.add({2, keyValue});
  }
  if (spec.attentionOutputBias)
    sum.add({hidden});
  if (spec.feedForwardOutputBias)
    sum.add({hidden});
  if (spec.normalizesQueryKey)
    sum.add({2, spec.headSize});
  return sum.get();
}

std::optional<int64_t> getParameterCount(const ModelSpec &spec) {
  std::optional<int64_t> layer = getLayerParameterCount(spec);
  if (!layer)
    return std::nullopt;
  CheckedSum sum;
  const int64_t depth = spec.nextTokens.depth;
  sum.add({spec.numLayers + depth, *layer});
  // Behind the model: what joins, and three norms.
  sum.add({depth, 2, spec.hiddenSize, spec.hiddenSize});
  sum.add({depth, 3, spec.hiddenSize});
  sum.add({spec.vocabSize, spec.hiddenSize});
  if (!spec.tiesWordEmbeddings)
    sum.add({spec.vocabSize, spec.hiddenSize});
  sum.add({spec.hiddenSize});
  return sum.get();
}

/// Whether first_k_dense_replace leaves no layer to experts. Layers of
/// mtp_depth count on from the others.
static bool hasDenseLayersAlone(const Node &model, const Node &moe) {
  auto read = [](std::initializer_list<Node> nodes) {
    for (const Node &node : nodes)
      if (node.getInt())
        return *node.getInt();
    return int64_t(0);
  };
  const int64_t first =
      read({moe["first_k_dense_replace"], model["first_k_dense_replace"]});
  const int64_t layers =
      read({model["num_layers"], model["num_hidden_layers"]});
  return layers > 0 && first >= layers + read({model["mtp_depth"]});
}

void rejectExperts(const Node &model, const Node &moe,
                   DiagnosticList &diagnostics) {
  if (hasDenseLayersAlone(model, moe))
    return;
  Node count = moe["expert_num"];
  auto hasExperts = [&] { return count.getInt() && *count.getInt() > 1; };
  for (llvm::StringRef key :
       {"num_experts", "n_routed_experts", "num_local_experts",
        "num_moe_experts", "expert_num"})
    if (!hasExperts())
      count = model[key];
  if (!hasExperts())
    count = model["moe_config"]["expert_num"];
  if (hasExperts())
    diagnostics.error(count.getLocation(),
                      "models with experts (here " + count.repr() +
                          ") are not supported yet; expected a dense model");
}

void rejectLatentAttention(const Node &model, DiagnosticList &diagnostics) {
  for (llvm::StringRef key : {"kv_lora_rank", "multi_latent_attention"}) {
    Node latent = model[key];
    if (latent.isUndefinedOrNull() || (latent.getBool() && !*latent.getBool()))
      continue;
    diagnostics.error(latent.getLocation(),
                      "multi-head latent attention (" + quote(key) +
                          ") is not supported here; expected DeepseekV2, "
                          "DeepseekV3 or TeleChat3, or a model with query, key "
                          "and value projections");
    return;
  }
}

void checkLimits(const ModelSpec &spec, const Location &place,
                 DiagnosticList &diagnostics) {
  constexpr int64_t largestNumLayers = 10000;
  if (spec.numLayers > largestNumLayers) {
    diagnostics.error(place,
                      "expected at most " + llvm::Twine(largestNumLayers) +
                          " layers, but got " + llvm::Twine(spec.numLayers));
    return;
  }
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
  if (!bytes.get())
    diagnostics.error(place, "the model is too large: the size of its tensors "
                             "in bytes overflows 64 bits");
}

} // namespace mf
