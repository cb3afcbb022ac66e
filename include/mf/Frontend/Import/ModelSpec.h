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
#include "mf/Frontend/Import/HybridAttentionSpec.h"
#include "mf/Frontend/Import/HyperConnectionSpec.h"
#include "mf/Frontend/Import/LatentAttentionSpec.h"
#include "mf/Frontend/Import/LoraSpec.h"
#include "mf/Frontend/Import/NextTokenSpec.h"
#include "mf/Frontend/Import/PrefixSpec.h"
#include "mf/Frontend/Import/RotarySpec.h"
#include "mf/Support/DType.h"
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mf {

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
