//===- ParameterNames.h - Naming schemes of parameters ----------*- C++ -*-===//
//
// The same parameter has different names, and may be stored together with
// others in one tensor, in MindSpore Transformers' checkpoints of each model
// family, with and without qkv_concat, and in Hugging Face's. This library
// knows the names of both, and says which rows of which tensors make up a
// parameter, so that a checkpoint of one can be loaded into a model of the
// other.
//
// All of them store linear layers as [out, in] and rotate query and key in the
// same way, so that rows move as a whole and nothing is transposed or permuted
// inside a head. Three things differ: Hugging Face's GPT-2 stores [in, out];
// experts are stacked in one tensor or are a tensor each, transposed or not;
// and latent attention rotates the halves of a head in one kind of checkpoint
// and its neighbours in the other, so that there the rows of a head change
// places.
//
//===----------------------------------------------------------------------===//

#ifndef MF_DATA_PARAMETERNAMES_H
#define MF_DATA_PARAMETERNAMES_H

#include "mf/Exec/Data/Safetensors.h"
#include "mf/Support/DType.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mf {

/// A way to name the parameters of a transformer.
enum class NameScheme : uint8_t {
  // MindSpore Transformers.
  Llama,             ///< model.layers.0.attention.wq.weight
  LlamaConcatenated, ///< qkv_concat: ...attention.w_qkv,
                     ///< feed_forward.w_gate_hidden
  Qwen,              ///< transformer.layers.0.attention.wq.weight
  QwenConcatenated,  ///< the same with qkv_concat
  Telechat,          ///< ...attention.wk_v, else as Llama
  ChatGlm, ///< transformer.encoder.layers.0.self_attention.query_key_value
  ChatGlmSeparate, ///< ...self_attention.wq, mlp.dense_left
  Glm,             ///< the first: transformer.layers.0.input_layernorm.gamma
  Gpt2,            ///< backbone.blocks.0.attention.dense1
  Mcore,           ///< decoder.layers.0.self_attention.linear_qkv
  McoreSeparate,   ///< mla_qkv_concat False: ...linear_q_down_proj
  // MindSpore Transformers with experts: of a fixed capacity or grouped, beside
  // shared experts or alone.
  Experts,             ///< ...feed_forward.ffn.w1.weight [E, I, h]
  ConcatenatedExperts, ///< qkv_concat: ...feed_forward.ffn.w_gate_hidden.weight
                       ///< [E, 2 I, h], ...attention.w_qkv
  SharedExperts,       ///< ...feed_forward.routed_experts.ffn.w1.weight
  GroupedExperts,      ///< ...feed_forward.ffn.w1 [E, h, 2 I]
  GroupedSharedExperts, ///< ...feed_forward.routed_experts.ffn.w1
  // Hugging Face.
  HuggingFace,         ///< Llama, Mistral, Qwen2, Qwen3, Qwen3-MoE
  HuggingFaceMixtral,  ///< block_sparse_moe.experts.0.w1
  HuggingFaceQwen2Moe, ///< mlp.experts.0.gate_proj, mlp.shared_expert
  HuggingFaceDeepSeek, ///< self_attn.kv_b_proj, mlp.shared_experts
  HuggingFaceBaichuan, ///< self_attn.W_pack
  HuggingFaceQwen,     ///< transformer.h.0.attn.c_attn
  HuggingFaceTelechat, ///< transformer.h.0.self_attention.key_value
  HuggingFaceChatGlm,  ///< transformer.encoder.layers.0, word_embeddings
  HuggingFaceGlm,      ///< transformer.layers.0.input_layernorm.weight
  HuggingFaceGpt2      ///< transformer.h.0.attn.c_attn, [in, out]
};

/// "Llama", "HuggingFaceChatGlm".
llvm::StringRef getName(NameScheme scheme);

/// Every scheme, in the order above.
llvm::ArrayRef<NameScheme> getAllNameSchemes();

/// The function of a parameter in the model, whatever it is called.
enum class ParameterPart : uint8_t {
  Embedding,
  Positions, ///< the table of positions
  AttentionNorm,
  Query,
  Key,
  Value,
  QueryNorm,
  KeyNorm,
  AttentionOutput,
  FeedForwardNorm,
  Gate, ///< the projection that goes through the activation
  Up,
  Down,
  FinalNorm,
  Head,
  // Latent attention. A head's query and key have a part that does not rotate
  // and one that does, rotating halves.
  QueryDown, ///< to the latent query
  QueryDownNorm,
  QueryNope, ///< the heads' parts that do not rotate
  QueryRope, ///< and those that do
  KeyValueDown,
  KeyValueDownNorm,
  KeyRope, ///< one for all heads
  KeyNope,
  ValueUp,
  // Experts.
  Router,
  RouterBias, ///< added to scores when experts are chosen
  ExpertGate,
  ExpertUp,
  ExpertDown,
  SharedGate,
  SharedUp,
  SharedDown,
  SharedRouter, ///< the weight of the shared experts' output
  // The layers that predict more tokens.
  PredictionHiddenNorm,
  PredictionEmbeddingNorm,
  PredictionFromHidden, ///< columns of the projection for the hidden state
  PredictionFromEmbedding,
  PredictionNorm,
  PredictionEmbedding, ///< copies of the model's own
  PredictionHead
};

/// How the rows of several parts lie in one tensor.
enum class RowOrder : uint8_t {
  /// One part after the other: [query; key; value].
  Contiguous,
  /// By key/value head: the query heads that share it, then its key, its value
  /// (Megatron). By neuron: gate, up. Ranks can share heads and neurons out as
  /// neighbouring rows.
  Grouped
};

/// The dimensions of a tensor that holds parts of `rows` rows and `columns`
/// columns.
enum class TensorForm : uint8_t {
  Rows,             ///< parts below each other: [all rows, columns]
  Columns,          ///< parts beside each other: [rows, all columns]
  Transposed,       ///< [columns, all rows]; a bias has no columns
  Stacked,          ///< of all experts: [experts, rows, columns]
  StackedTransposed ///< [experts, columns, all rows]
};

/// A name taken apart. `layer` is -1 outside of the layers, `expert` if the
/// name is of no single expert. The layers that predict more tokens are counted
/// behind the others.
struct ParameterName {
  int64_t layer = -1;
  int64_t expert = -1;
  bool isBias = false;
  llvm::ArrayRef<ParameterPart> parts;
  RowOrder order = RowOrder::Contiguous;
  TensorForm form = TensorForm::Rows;
  /// Neighbouring rows of the rotating part turn together, not those of its two
  /// halves.
  bool rotatesPairs = false;

  bool isStacked() const {
    return form == TensorForm::Stacked || form == TensorForm::StackedTransposed;
  }
};

/// Sizes of latent attention, per head where heads have it.
struct LatentSizes {
  /// The size of the latent query; 0 if queries come from the hidden state.
  int64_t querySize = 0;
  int64_t keyValueSize = 0;
  int64_t nopeSize = 0;
  int64_t ropeSize = 0;
  int64_t valueSize = 0;
};

/// Facts about the model that the names of its parameters do not reveal.
struct ParameterLayout {
  int64_t numHeads = 0;
  int64_t numKeyValueHeads = 0;
  int64_t headSize = 0;
  /// If set, attention is latent; numHeads are its heads.
  std::optional<LatentSizes> latent;
  int64_t numExperts = 0;
  /// Blocks of w_gate_hidden of experts: the gates of some neurons, then their
  /// ups; one for each model-parallel rank.
  int64_t gateUpBlocks = 1;
  /// Layers without those that predict more tokens.
  int64_t numLayers = 0;
  /// GPT-2, whose queries, keys and values are one transposed tensor in files
  /// of Hugging Face.
  bool transposesQueries = false;
  /// The head may be loaded from the embedding if it has no tensor of its own.
  bool tiesWordEmbeddings = false;
  /// Rows of linear_qkv and linear_fc1, query_key_value and dense_h_to_4h where
  /// they are read and where they are written: Grouped in models here,
  /// Contiguous in files of Hugging Face and MindSpore Transformers under the
  /// same names.
  RowOrder sourceOrder = RowOrder::Contiguous;
  RowOrder targetOrder = RowOrder::Contiguous;
};

/// The parameter that `name` stands for, or none if no scheme has such a name.
/// Some names mean one thing in latent and another in other attention, and
/// layers that predict more tokens are told by the number of layers: `layout`
/// decides. Mcore names may start with "model.".
std::optional<ParameterName>
parseParameterName(llvm::StringRef name, const ParameterLayout &layout = {});

/// The names in `scheme` of the tensors that hold the parts of `name`, in the
/// order of experts and parts: one for the same or a larger tensor, several if
/// `scheme` stores the parts separately. Empty if `name` is unknown, or is
/// something that `scheme` has no name for.
std::vector<std::string>
translateParameterName(llvm::StringRef name, NameScheme scheme,
                       const ParameterLayout &layout = {});

/// Where a block lies in a tensor, in elements.
struct BlockPlace {
  int64_t offset = 0;
  int64_t rowStride = 0;
  int64_t columnStride = 1;

  bool operator==(const BlockPlace &other) const {
    return offset == other.offset && rowStride == other.rowStride &&
           columnStride == other.columnStride;
  }
  bool operator!=(const BlockPlace &other) const { return !(*this == other); }
};

/// A block of tensor `source` that is a block of the parameter.
struct BlockCopy {
  std::string source;
  int64_t rows = 0;
  int64_t columns = 0;
  BlockPlace from;
  BlockPlace to;

  bool operator==(const BlockCopy &other) const {
    return source == other.source && rows == other.rows &&
           columns == other.columns && from == other.from && to == other.to;
  }
};

/// The dimensions of the source's tensor of a name, or none if it has none.
using DimsLookup =
    llvm::function_ref<std::optional<llvm::ArrayRef<int64_t>>(llvm::StringRef)>;

/// How the parameter called `target` of dimensions `dims` is put together from
/// the tensors of a source, in the order of its rows. The source's scheme is
/// found by looking its names up; a tensor with the very name of the parameter
/// is preferred. Fails if a part is nowhere (all names looked for are listed)
/// or if dimensions do not fit.
llvm::Expected<std::vector<BlockCopy>>
planParameter(llvm::StringRef target, llvm::ArrayRef<int64_t> dims,
              DimsLookup lookup, const ParameterLayout &layout);

/// Plans the same for the tensors of a checkpoint.
llvm::Expected<std::vector<BlockCopy>>
planParameter(llvm::StringRef target, llvm::ArrayRef<int64_t> dims,
              const SafetensorsCheckpoint &checkpoint,
              const ParameterLayout &layout);

/// Fills `to`, a parameter of `shape`, from a checkpoint under any of the
/// schemes; floating point types convert.
llvm::Error loadParameter(const SafetensorsCheckpoint &checkpoint,
                          llvm::StringRef target, const TensorShape &shape,
                          const ParameterLayout &layout,
                          llvm::MutableArrayRef<uint8_t> to);

/// A tensor without its contents.
struct NamedShape {
  std::string name;
  TensorShape shape;

  bool operator==(const NamedShape &other) const {
    return name == other.name && shape == other.shape;
  }
};

/// The tensors that `parameters` become under `scheme`, for writing them with
/// planParameter: in the order of the first part of each. A model whose layers
/// predict more tokens gets the copies of embedding and head that `scheme` has
/// for them. Fails on a parameter that no scheme or this one has no name for,
/// and on one whose rows are not those of `layout`.
llvm::Expected<std::vector<NamedShape>>
convertParameterList(llvm::ArrayRef<NamedShape> parameters, NameScheme scheme,
                     const ParameterLayout &layout);

} // namespace mf

#endif // MF_DATA_PARAMETERNAMES_H
