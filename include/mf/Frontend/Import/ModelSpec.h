//===- ModelSpec.h - The shape of a dense transformer -----------*- C++ -*-===//
//
// A model by its model.arch and model.model_config (or a Hugging Face
// config.json), resolved to one description that all families share: sizes,
// element types, which weights are stored together, which projections have a
// bias. Missing keys take the defaults of MindSpore Transformers' config
// classes.
//
//===----------------------------------------------------------------------===//

#ifndef MF_IMPORT_MODELSPEC_H
#define MF_IMPORT_MODELSPEC_H

#include "mf/Frontend/Config/FusionConfig.h"
#include "mf/Frontend/Config/RankLayout.h"
#include "mf/Frontend/Config/TrainingConfig.h"
#include "mf/Frontend/Import/ExpertSpec.h"
#include "mf/Frontend/Import/LatentAttentionSpec.h"
#include "mf/Frontend/Import/LoraSpec.h"
#include "mf/Frontend/Import/NextTokenSpec.h"
#include "mf/Frontend/Import/PrefixSpec.h"
#include "mf/Support/DType.h"
#include <optional>
#include <string>
#include <vector>

namespace mf {

/// Layer classes of MindSpore Transformers: they decide the names of Cells and
/// parameters and the computation of a layer.
enum class ModelFamily : uint8_t {
  Llama,     ///< LLamaDecodeLayer: Llama, CodeLlama, Yi, Qwen 1.5 to 2.5,
             ///< Baichuan2, InternLM
  InternLm2, ///< InternLM2DecodeLayer; Llama's with one weight for query, key
             ///< and value alone
  Qwen,      ///< QwenDecodeLayer: Qwen 1; Llama's with its own top-level names
  Telechat,  ///< TelechatDecodeLayer: TeleChat, TeleChat2
  ChatGlm,   ///< ChatGLM2Block: GLM 2 to 4
  DeepSeek,  ///< DeepSeekV2DecodeLayer: DeepSeek-V2 and V3
  Glm,       ///< DeepNormWithGLULayer: the first GLM
  Gpt2,      ///< GPTTransformerDecoderLayer: GPT-2
  Spark,     ///< IFlytekSparkTransformerEncoderLayer: iFlytekSpark
  Mcore      ///< TransformerLayer of the mcore training graph: Qwen3,
             ///< DeepSeek-V3, TeleChat3
};

/// `llama`, `internlm2`, `qwen`, `telechat`, `chatglm`, `deepseek`, `glm`,
/// `gpt2`, `spark`, `mcore`: the `family` of mf.model.
llvm::StringRef getName(ModelFamily family);

/// How the query, key and value weights are stored.
enum class ProjectionLayout : uint8_t {
  Separate,     ///< three weights
  KeyValue,     ///< query on its own, key and value in one
  QueryKeyValue ///< all in one
};

/// The ranks that share out the rows of a vocabulary's table, the outer ones
/// first.
enum class VocabularyCut : uint8_t {
  None,            ///< each has all
  Model,           ///< model parallel
  ContextAndModel, ///< context and model parallel
  All              ///< data, context and model parallel: a whole stage
};

/// The nonlinearity of the feed forward.
enum class Activation : uint8_t { Silu, Gelu, FastGelu };

/// Rotary position embedding (Su et al., 2021).
struct RotarySpec {
  /// Dimensions of a head that rotate; the others pass through.
  int64_t size = 0;
  /// Base of the geometric series of wave lengths.
  double base = 10000.0;
  /// The factor on positions: 1 / scaling_factor for position interpolation.
  double positionScale = 1.0;
  /// In place of the series of `base`, if not empty: one per pair of
  /// dimensions.
  std::vector<double> frequencies;
  /// The factor on cosine and sine (YaRN).
  double amplitude = 1.0;
  /// Neighbours rotate together (ChatGLM), not the two halves of a head.
  bool rotatesPairs = false;
  /// Neighbours are moved to the two halves of a head before these rotate
  /// (latent attention of the mcore graph).
  bool movesPairs = false;
  /// Half of a head turns with the position in the prefix, which is that of its
  /// last token behind it, and half with the position behind it, which is 0
  /// within (Du et al., 2022). `size` is that of a half.
  bool isTwoDimensional = false;
};

/// The shares of elements that a training step drops at random.
struct DropoutSpec {
  /// Probabilities of dropping an element: `embedding` for the embedding's
  /// result, `hidden` for the results that attention and feed forward give to
  /// the residual stream, and the last for the probabilities of attention.
  double embedding = 0.0, hidden = 0.0, attention = 0.0;
  /// Before the bias of the linear layer whose result is dropped.
  bool precedesBias = false;
};

struct ModelSpec {
  /// A symbol name, from trainer.model_name or the family.
  std::string name;
  ModelFamily family = ModelFamily::Llama;

  /// Samples of one micro-batch, of all data-parallel ranks.
  int64_t microBatchSize = 1;
  int64_t sequenceLength = 0;
  int64_t vocabSize = 0;
  int64_t hiddenSize = 0;
  int64_t numLayers = 0;
  int64_t numHeads = 0;
  int64_t numKeyValueHeads = 0;
  int64_t headSize = 0;
  int64_t feedForwardSize = 0;
  /// Experts in place of the feed forward, in some layers or all.
  std::optional<ExpertSpec> experts;
  int64_t padTokenId = -1;
  int64_t ignoreTokenId = -100;
  /// The token that ends a document, where attention keeps to documents.
  std::optional<int64_t> documentEnd;

  ProjectionLayout projections = ProjectionLayout::Separate;
  bool queryKeyValueBias = false;
  bool attentionOutputBias = false;
  bool feedForwardOutputBias = false;
  /// The projections to the feed forward's width have biases.
  bool feedForwardInputBias = false;
  /// Weights of the feed forward and of attention's output projection are
  /// stored with the inputs as rows.
  bool storesInputRows = false;
  /// The feed forward is down(activation(gate(x)) * up(x)), else
  /// down(activation(up(x))).
  bool gatesFeedForward = true;
  Activation activation = Activation::Silu;
  /// Gate and up projection of the feed forward are one weight.
  bool concatenatesFeedForward = false;
  /// Layers of mixtral_extend: those of experts are too, and gates are either
  /// normalised or scaled in any release.
  bool extendsMixtral = false;
  /// Gate and up projection are taken apart in the activation's Cell, which
  /// multiplies them too (hidden_act `swiglu` of the mcore graph).
  bool activationMultiplies = false;
  /// RMSNorm of each query and key head.
  bool normalizesQueryKey = false;
  /// Rows of the head's weight are divided by their length (Baichuan2).
  bool normalizesHead = false;
  bool tiesWordEmbeddings = false;
  /// Scores get slope * (key - query), one slope per head (ALiBi), in place of
  /// rotary embedding.
  bool usesAlibi = false;
  /// A trained table of positions is added to the embedding's result.
  bool learnsPositions = false;
  bool usesFlashAttention = false;
  /// Without flash attention queries and keys are scaled in place of scores,
  /// and scores are masked in the softmax's type.
  bool scalesHeads = false;
  /// Queries are also divided by the layer's number, from 1, and scores
  /// multiplied with it in the softmax's type.
  bool scalesByLayer = false;
  /// The token before which the prefix of a sample ends, which all tokens see.
  std::optional<int64_t> prefixEnd;

  /// Norms are LayerNorm, with a bias, in place of RMSNorm.
  bool usesLayerNorm = false;
  /// Norms cast what they read to normType first.
  bool castsNormInput = true;
  /// If it is not 0, the residual stream goes on from what norms give, times
  /// this (DeepNorm, Wang et al., 2022).
  double residualScale = 0.0;
  /// The feed forward's activation is in the residual stream's type.
  bool widensActivation = false;

  RotarySpec rotary;
  /// In place of `projections`. numKeyValueHeads is then numHeads, headSize
  /// that of queries and keys and rotary.size a part of it.
  std::optional<LatentAttentionSpec> latent;
  NextTokenSpec nextTokens;
  DropoutSpec dropout;
  /// The model is fine-tuned: only adapters are trained.
  std::optional<LoraSpec> lora;
  /// Or only keys and values before those of the tokens are.
  std::optional<PrefixSpec> prefix;
  double normEpsilon = 1e-5;
  /// Standard deviation of the initial weights.
  double initializerRange = 0.01;
  /// In its place, sqrt(2 / (inputs + outputs)) of each (Glorot and Bengio,
  /// 2010).
  bool initializesXavier = false;

  DType computeType = DType::F16;
  DType paramType = DType::F16;
  DType embeddingType = DType::F16;
  /// The type of the head's own weight, if it is not paramType.
  std::optional<DType> headType;
  DType normType = DType::F32;
  DType softmaxType = DType::F32;
  DType rotaryType = DType::F32;
  DType residualType = DType::F16;

  /// The operators that are fused into one kernel. The model is built unfused
  /// all the same, but Cells register other names.
  FusionConfig fusions;

  /// The ranks that the model is for: what its sizes must divide into.
  RankLayout ranks;
  VocabularyCut tableCut = VocabularyCut::ContextAndModel;
  VocabularyCut headCut = VocabularyCut::Model;
  /// Ranks with the same rows of the embedding's table may share them out.
  bool parallelOptimizerTable = false;

  /// The standard deviation of the initial values of a weight.
  double getInitialDeviation(int64_t numInputs, int64_t numOutputs) const;
  int64_t getQuerySize() const { return numHeads * headSize; }
  /// The size of the rows that attention hands to its output projection.
  int64_t getAttendedSize() const {
    return numHeads * (latent ? latent->valueSize : headSize);
  }
  int64_t getKeyValueSize() const { return numKeyValueHeads * headSize; }
  /// Whether body layer `index` has experts.
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
/// Whether `lhs` is older.
inline bool operator<(const Release &lhs, const Release &rhs) {
  return lhs.major != rhs.major ? lhs.major < rhs.major : lhs.minor < rhs.minor;
}

/// Reads `1.4`, `1.4.0` or `r1.4.0-beta2`; none if the text is no release.
std::optional<Release> parseRelease(llvm::StringRef text);

/// Replaces sizes for experiments; sizes without a value stay.
struct ModelOverrides {
  std::optional<int64_t> numLayers;
  std::optional<int64_t> sequenceLength;
  /// The batch size of one data-parallel rank.
  std::optional<int64_t> batchSize;
  /// Rows of tokens that routers see, of all ranks: as many as there are
  /// data-, context- and model-parallel ranks in the run to be reproduced.
  std::optional<int64_t> routerRows = std::nullopt;
  /// Rows of tokens that a rank has room for behind an exchange among ranks
  /// with different experts, by those it sends.
  std::optional<double> expertRoom = std::nullopt;
  /// The release whose layers the model has, where releases differ; the newest
  /// if not set.
  std::optional<Release> release = std::nullopt;
};

/// Width of LlamaFeedForward without intermediate_size: two thirds of 4 *
/// `hiddenSize` (times `multiplier` + 0.01, if given), each step rounded
/// down, then up to a multiple of `multipleOf`. None if it overflows.
std::optional<int64_t> computeFeedForwardSize(int64_t hiddenSize,
                                              int64_t multipleOf,
                                              std::optional<double> multiplier);

/// Parameters that are trained, tied ones counted once; none if the number
/// overflows 64 bits.
std::optional<int64_t> getParameterCount(const ModelSpec &spec);

/// Adds the keys of a config.json to model_config, as the mcore training graph
/// does with the one in pretrained_model_dir; keys that the YAML has win.
void addPretrainedConfig(const Node &root, TrainingConfig &config,
                         DiagnosticList &diagnostics);

/// Reads the model of a training YAML. Errors (an unknown architecture,
/// experts, latent attention, sizes that do not fit together) go to
/// `diagnostics` and give none; a key with a value that is not modelled is a
/// warning.
std::optional<ModelSpec> readModelSpec(const TrainingConfig &config,
                                       const ModelOverrides &overrides,
                                       DiagnosticList &diagnostics);

/// The model of a Hugging Face config.json (Llama, Mistral, Qwen2, Qwen3,
/// Mixtral, Qwen2-MoE, Qwen3-MoE, DeepSeek-V2 and V3): parameters in fp32,
/// computation in `torch_dtype`, flash attention, batch 1 and at most 4096
/// tokens unless `overrides` says otherwise.
std::optional<ModelSpec> readHuggingFaceSpec(const Node &root,
                                             const ModelOverrides &overrides,
                                             DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_IMPORT_MODELSPEC_H
