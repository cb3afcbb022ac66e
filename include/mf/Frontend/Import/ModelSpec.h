//===- ModelSpec.h - The shape of a dense transformer -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A model as defined by model.arch and model.model_config (or a Hugging Face
// config.json), resolved to a description that all families share: sizes,
// element types, weights that are stored together, and projections with a bias.
// Missing keys get the defaults of MindSpore Transformers' config classes.
//
//===----------------------------------------------------------------------===//

#ifndef MF_FRONTEND_IMPORT_MODELSPEC_H
#define MF_FRONTEND_IMPORT_MODELSPEC_H

#include "mf/Frontend/Config/FusionConfig.h"
#include "mf/Frontend/Config/RankLayout.h"
#include "mf/Frontend/Config/TrainingConfig.h"
#include "mf/Frontend/Families/Family.h"
#include "mf/Frontend/Import/ExpertSpec.h"
#include "mf/Support/DType.h"
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mf {

/// Rotary position embedding (Su et al., 2021).
struct RotarySpec {
  /// The dimensions of a head that are rotated. The others are not changed.
  int64_t size = 0;
  /// The base of the geometric series of wave lengths.
  double base = 10000.0;
  /// The factor on positions: 1 / scaling_factor for position interpolation.
  double positionScale = 1.0;
  /// If not empty, replaces the series of `base`. It has one frequency per pair
  /// of dimensions, or one for each dimension.
  std::vector<double> frequencies;
  /// The factor on cosine and sine (YaRN).
  double amplitude = 1.0;
  /// True if neighbouring dimensions are rotated together (ChatGLM) instead of
  /// the two halves of a head.
  bool rotatesPairs = false;
  /// True if neighbouring dimensions are moved to the two halves of a head
  /// before these are rotated (latent attention of the mcore graph).
  bool movesPairs = false;
  /// True for the two-dimensional positions of Du et al. (2022). One half of a
  /// head is rotated by the position in the prefix, which after the prefix is
  /// that of its last token. The other half is rotated by the position after
  /// the prefix, which within it is 0. `size` is that of one half.
  bool isTwoDimensional = false;
};

/// The projections that are stored in one weight.
enum class LatentLayout : uint8_t {
  Separate,     ///< a weight for each part (DeepSeekV2Attention)
  DownTogether, ///< all projections that read the layer's input are one weight
                ///< (MLASelfAttentionConcatenated)
  QueryApart    ///< the query, and key and value, have separate down and up
                ///< weights (MLASelfAttention)
};

/// The sizes and the weights of latent attention.
///
/// Attention whose keys and values, and optionally queries, are projected from
/// a narrower vector per token, the latent (DeepSeek-V2, 2024). Some dimensions
/// of a query or key are rotated by the position; the others do not depend on
/// it. All heads share the rotated part of a key.
struct LatentAttentionSpec {
  LatentLayout layout = LatentLayout::Separate;
  /// The width of the query's latent. Empty if queries are projected directly.
  std::optional<int64_t> queryRank;
  /// The width of the latent of keys and values.
  int64_t keyValueRank = 0;
  /// The dimensions of a query's or key's head that are not rotated and that
  /// are rotated, and the dimensions of a value's head.
  int64_t plainSize = 0;
  int64_t rotarySize = 0;
  int64_t valueSize = 0;
  /// True if the latents are normalized by RMSNorm.
  bool hasNorms = true;
  /// True if values are padded with zeros to the width of keys for flash
  /// attention.
  bool padsValues = true;
  /// True if the rotated part of a key is copied to all heads before the
  /// rotation instead of after it.
  bool rotatesCopies = false;
  /// True if the end of the step reads the largest logit of each head.
  bool keepsLargestLogits = false;
  /// The factor on attention scores.
  double scale = 1.0;

  /// Returns the size of a query's or key's head.
  int64_t getKeySize() const { return plainSize + rotarySize; }
};

/// The sizes of hybrid attention. The head size is that of queries, and of keys
/// and values.
///
/// The attention of DeepSeek-V4: all query heads share one head, whose vectors
/// are keys and values at once. A query sees the last tokens, the window, and
/// entries, each of which pools a group of tokens. In layers with small groups
/// an indexer chooses the entries of each query.
struct HybridAttentionSpec {
  /// The ratio at which two neighbouring groups overlap, and at which an
  /// indexer chooses.
  static constexpr int64_t indexedRatio = 4;

  int64_t queryRank = 0;
  /// The dimensions of a head, the last ones, that are rotated.
  int64_t rotarySize = 0;
  /// The result is projected by groups of heads, to a latent of this width
  /// each.
  int64_t outputGroups = 1, outputRank = 0;
  /// The tokens of a group of each layer, of the later-token layers too; 0 for
  /// no entries.
  std::vector<int64_t> ratios;
  /// The tokens that a query sees, with its own.
  int64_t window = 0;
  int64_t indexHeads = 0, indexSize = 0;
  /// The entries that an indexer chooses.
  int64_t numChosen = 0;
  /// The factor of the indexer's loss; 0 for none.
  double indexLossFactor = 0;
  /// True if layers with an indexer's ratio have none, and queries see all
  /// entries.
  bool seesAllEntries = false;
  /// True if attention and indexer are fused kernels, and the indexer's loss
  /// has their gradient.
  bool isFused = false;
  /// The rotation of layers with entries. Others have the model's.
  RotarySpec entryRotary;

  int64_t getNumEntries(int64_t ratio, int64_t length) const {
    return ratio == 0 ? 0 : length / ratio;
  }
  bool hasIndexer(int64_t ratio) const {
    return ratio == indexedRatio && !seesAllEntries;
  }
};

/// The residual streams of a model.
///
/// Manifold-constrained hyper-connections (mHC, 2025): a token has several
/// residual streams. Attention and feed forward read a weighted sum of them.
/// Behind each, a matrix mixes the streams, and each gets a share of the
/// result. The weights depend on the token. The rows and columns of the matrix
/// sum to 1 but for rounding, as Sinkhorn and Knopp (1967) make them.
struct HyperConnectionSpec {
  /// n, the number of streams.
  int64_t streams = 4;
  /// The divisions by column sums; 0 are as 1.
  int64_t iterations = 20;
  /// Of the norm of all streams together.
  double epsilon = 1e-6;
  /// The initial factors of the parts of the weights that depend on the token.
  double initialFactor = 0.01;
  /// The standard deviation of the initial projections to weights.
  double initializerRange = 0.01;
  /// True if the streams are collapsed before the final norm with weights that
  /// depend on the token, false if with their mean.
  bool learnsCollapse = true;
  /// True if the trainer computes a site by fused kernels.
  bool isFused = false;

  /// Returns the number of weights of a site: what it reads of each stream,
  /// what each stream gets, and how they are mixed.
  int64_t getNumWeights() const { return streams * (streams + 2); }
};

/// The additional layers of a model.
///
/// Multi-token prediction (DeepSeek-V3, 2024): each additional layer joins the
/// hidden state of every token with the embedding of the next token, runs one
/// more layer, and predicts the token after that with the model's head.
struct NextTokenSpec {
  /// The number of additional layers, each of which predicts one token further;
  /// 0 for none.
  int64_t depth = 0;
  /// The weight of the mean of their losses, which is added to the model's own
  /// loss.
  double lossFactor = 0.3;
  /// True if all ranks have all outputs of the joining (the dynamic graph).
  bool joinsWhole = false;
  /// True if the head runs once, on the concatenated tokens of all depths.
  /// Ranks or pieces that share the sequence have their own part of each depth.
  bool joinsHeads = false;
};

/// The adapters of a model.
///
/// model_config.pet_config with pet_type lora, resolved for a release, or
/// lora_config of the dynamic graph: the linear layers that get adapters, the
/// sizes, types and names of adapters, and the parameters of the model that are
/// trained in addition.
struct LoraSpec {
  int64_t rank = 8;
  double alpha = 16;
  /// The fraction of an adapter's input that is dropped at random.
  double dropout = 0.01;
  /// A regular expression that matches a prefix of a Cell's name or, if
  /// `matchesPaths` is true, some part of its path.
  std::string target;
  bool matchesPaths = false;
  /// Regular expressions of Cells that, with everything in them, get no
  /// adapters.
  std::vector<std::string> exclude;
  /// Globs that match names of parameters.
  std::vector<std::string> freezeInclude, freezeExclude;
  /// True if parameters are trained that both lists match, or neither.
  bool trainsOthers = false;
  /// The names of A and B, which follow the name of their Cell.
  std::string nameA = "mindpet_delta_lora_a", nameB = "mindpet_delta_lora_b";
  /// The standard deviations of the first values. Without them A is uniform
  /// between -1/sqrt(in) and 1/sqrt(in), and B is zero.
  std::optional<double> deviationA, deviationB;
  /// If empty, the adapter has the types of its layer.
  std::optional<DType> paramType, computeType;
  /// The place of the target in the YAML, or of the key that implies it.
  Location location;
};

/// The trained keys and values of a model.
///
/// model_config.pet_config with pet_type prefixtuning or ptuning2: keys and
/// values of every layer that precede those of the tokens. Only these are
/// trained (Li and Liang, 2021; Liu et al., 2022).
struct PrefixSpec {
  /// The number of positions before the tokens.
  int64_t length = 128;
  /// The hidden size of the two linear layers that follow the table; 0 without
  /// them.
  int64_t middleSize = 0;
  double dropout = 0.0;
  DType tableType = DType::F16;
  /// The Cell that computes them, and the prefix of the names of its
  /// parameters.
  std::string cell, parameterPrefix;
};

/// How the query, key and value weights are stored.
enum class ProjectionLayout : uint8_t {
  Separate,     ///< three weights
  KeyValue,     ///< query on its own, key and value in one
  QueryKeyValue ///< all in one
};

/// The ranks over which the rows of a vocabulary table are sharded, outermost
/// first.
enum class VocabularyCut : uint8_t {
  None,            ///< each rank has all rows
  Model,           ///< model parallel
  ContextAndModel, ///< context and model parallel
  All              ///< data, context and model parallel: a whole stage
};

/// The activation function of the feed forward.
enum class Activation : uint8_t { Silu, Gelu, FastGelu };

/// The fractions of elements that a training step drops at random.
struct DropoutSpec {
  /// The probabilities of dropping an element: `embedding` for the embedding's
  /// result, `hidden` for the results of attention and feed forward that are
  /// added to the residual stream, and `attention` for the probabilities of
  /// attention.
  double embedding = 0.0, hidden = 0.0, attention = 0.0;
  /// True if dropout precedes the bias of the linear layer whose result is
  /// dropped.
  bool precedesBias = false;
};

/// The description of a whole model.
struct ModelSpec {
  /// A symbol name, from trainer.model_name or the family.
  std::string name;
  ModelFamily family = ModelFamily::Llama;

  /// The samples of one micro-batch on all data-parallel ranks.
  int64_t microBatchSize = 1;
  int64_t sequenceLength = 0;
  int64_t vocabSize = 0;
  int64_t hiddenSize = 0;
  int64_t numLayers = 0;
  int64_t numHeads = 0;
  int64_t numKeyValueHeads = 0;
  int64_t headSize = 0;
  int64_t feedForwardSize = 0;
  /// The experts that replace the feed forward in some or all layers.
  std::optional<ExpertSpec> experts;
  /// Layers with experts below this index choose them by a table of token ids.
  int64_t numHashLayers = 0;
  int64_t padTokenId = -1;
  int64_t ignoreTokenId = -100;
  /// The token that ends a document, if attention is restricted to documents.
  std::optional<int64_t> documentEnd;

  ProjectionLayout projections = ProjectionLayout::Separate;
  bool queryKeyValueBias = false;
  bool attentionOutputBias = false;
  bool feedForwardOutputBias = false;
  /// True if the projections to the feed forward's width have biases.
  bool feedForwardInputBias = false;
  /// True if the weights of the feed forward and of attention's output
  /// projection are stored with the inputs as rows.
  bool storesInputRows = false;
  /// True if the feed forward is down(activation(gate(x)) * up(x)), false if it
  /// is down(activation(up(x))).
  bool gatesFeedForward = true;
  Activation activation = Activation::Silu;
  /// True if gate and up projection of the feed forward are one weight.
  bool concatenatesFeedForward = false;
  /// True for the layer classes of mixtral_extend, including those of experts.
  /// Their gates are either normalised or scaled, but not both, in all
  /// releases.
  bool extendsMixtral = false;
  /// True if gate and up projection are split in the activation's Cell, which
  /// also multiplies them (hidden_act `swiglu` of the mcore graph).
  bool activationMultiplies = false;
  /// If set, the largest value of a gate, and of an up projection's magnitude,
  /// that counts in their product.
  std::optional<double> activationLimit;
  /// True if each query and key head is normalized by RMSNorm.
  bool normalizesQueryKey = false;
  /// True if the rows of the head's weight are divided by their length
  /// (Baichuan2).
  bool normalizesHead = false;
  bool tiesWordEmbeddings = false;
  /// True if scores get slope * (key - query), with one slope per head (ALiBi),
  /// instead of rotary embedding.
  bool usesAlibi = false;
  /// True if a trained table of positions is added to the embedding's result.
  bool learnsPositions = false;
  bool usesFlashAttention = false;
  /// True if the trainer's attention reads a mask of fixed size, and not one of
  /// the whole sequence.
  bool compressesMask = false;
  /// True if, without flash attention, queries and keys are scaled instead of
  /// scores, and scores are masked in the softmax's type.
  bool scalesHeads = false;
  /// True if queries are also divided by the layer's number, from 1, and scores
  /// are multiplied by it in the softmax's type.
  bool scalesByLayer = false;
  /// The token that ends the prefix of a sample (exclusively). All tokens see
  /// the prefix.
  std::optional<int64_t> prefixEnd;

  /// True if norms are LayerNorm with a bias, false if they are RMSNorm.
  bool usesLayerNorm = false;
  /// True if norms cast their input to normType first.
  bool castsNormInput = true;
  /// If not 0, the residual stream continues from the outputs of norms,
  /// multiplied by this (DeepNorm, Wang et al., 2022).
  double residualScale = 0.0;
  /// True if the feed forward's activation is computed in the residual stream's
  /// type.
  bool widensActivation = false;

  RotarySpec rotary;
  /// Replaces `projections`. numKeyValueHeads is then numHeads, headSize is
  /// that of queries and keys, and rotary.size is a part of it.
  std::optional<LatentAttentionSpec> latent;
  /// Replaces attention of all other kinds.
  std::optional<HybridAttentionSpec> hybrid;
  /// If set, the residual stream is several ones, side by side.
  std::optional<HyperConnectionSpec> streams;
  NextTokenSpec nextTokens;
  DropoutSpec dropout;
  /// If set, the model is fine-tuned and only adapters are trained.
  std::optional<LoraSpec> lora;
  /// If set, only keys and values that precede those of the tokens are trained.
  std::optional<PrefixSpec> prefix;
  double normEpsilon = 1e-5;
  /// The standard deviation of the initial weights.
  double initializerRange = 0.01;
  /// True to use sqrt(2 / (inputs + outputs)) for each weight instead (Glorot
  /// and Bengio, 2010).
  bool initializesXavier = false;

  DType computeType = DType::F16;
  DType paramType = DType::F16;
  DType embeddingType = DType::F16;
  /// The type of the head's own weight, if it differs from paramType.
  std::optional<DType> headType;
  DType normType = DType::F32;
  /// True if ranks keep weights in the type in which layers read them, as the
  /// dynamic graph does.
  bool keepsReadType = false;
  /// True if ranks keep the weights of attention's projections in paramType
  /// instead.
  bool keepsProjectionType = false;
  DType softmaxType = DType::F32;
  DType rotaryType = DType::F32;
  DType residualType = DType::F16;

  /// The operators that are fused into one kernel. The model is built unfused
  /// in any case, but Cells register other names.
  FusionConfig fusions;

  /// The ranks that the model is for. Its sizes must be divisible accordingly.
  RankLayout ranks;
  VocabularyCut tableCut = VocabularyCut::ContextAndModel;
  VocabularyCut headCut = VocabularyCut::Model;
  /// True if the embedding's table may be sharded over ranks that hold the same
  /// rows of it.
  bool parallelOptimizerTable = false;

  /// The keys of the YAML that were read, by path, with their values as text.
  /// That of batch_size counts the samples of all of data_parallel. Keys of
  /// parallel_config are there if their value is not the default, read or not.
  /// Empty for a config.json.
  std::map<std::string, std::string> madeFrom;

  /// Returns the standard deviation of the initial values of a weight.
  double getInitialDeviation(int64_t numInputs, int64_t numOutputs) const {
    return initializesXavier
               ? std::sqrt(2.0 / (static_cast<double>(numInputs) +
                                  static_cast<double>(numOutputs)))
               : initializerRange;
  }
  int64_t getQuerySize() const { return numHeads * headSize; }
  /// Returns the width of what body layers hand on: that of all streams.
  int64_t getResidualSize() const {
    return streams ? streams->streams * hiddenSize : hiddenSize;
  }
  /// Returns the size of the rows that attention passes to its output
  /// projection.
  int64_t getAttendedSize() const {
    return numHeads * (latent ? latent->valueSize : headSize);
  }
  int64_t getKeyValueSize() const { return numKeyValueHeads * headSize; }
  /// Returns whether body layer `index` has experts.
  bool hasExperts(int64_t index) const {
    return experts && experts->hasLayer(index);
  }
};

/// A release of MindSpore Transformers.
struct Release {
  unsigned major = 0, minor = 0;
};
inline bool operator==(const Release &lhs, const Release &rhs) {
  return lhs.major == rhs.major && lhs.minor == rhs.minor;
}
/// Returns whether `lhs` is older.
inline bool operator<(const Release &lhs, const Release &rhs) {
  return lhs.major != rhs.major ? lhs.major < rhs.major : lhs.minor < rhs.minor;
}

/// Sizes that replace those of the YAML, for experiments.
struct ModelOverrides {
  std::optional<int64_t> numLayers;
  std::optional<int64_t> sequenceLength;
  /// The batch size of one data-parallel rank.
  std::optional<int64_t> batchSize;
  /// The rows of tokens that routers see on all ranks. This is the number of
  /// data-, context- and model-parallel ranks in the run to be reproduced.
  std::optional<int64_t> routerRows = std::nullopt;
  /// The number of rows of tokens that fit on a rank after an exchange among
  /// ranks with different experts, relative to those that it sends.
  std::optional<double> expertRoom = std::nullopt;
  /// The release whose layers the model has, if releases differ. Empty for the
  /// newest.
  std::optional<Release> release = std::nullopt;
};

/// Returns the width of LlamaFeedForward without intermediate_size: two thirds
/// of 4 * `hiddenSize` (times `multiplier` + 0.01, if given), each step rounded
/// down, then up to a multiple of `multipleOf`. None if it overflows.
std::optional<int64_t> computeFeedForwardSize(int64_t hiddenSize,
                                              int64_t multipleOf,
                                              std::optional<double> multiplier);

/// Returns the number of trained parameters; tied ones count once. None if the
/// number overflows 64 bits.
std::optional<int64_t> getParameterCount(const ModelSpec &spec);

} // namespace mf

#endif // MF_FRONTEND_IMPORT_MODELSPEC_H
