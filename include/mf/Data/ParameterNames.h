//===- ParameterNames.h - Parameters under other names --------*- C++ -*-===//
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
// inside a head.
//
//===----------------------------------------------------------------------===//

#ifndef MF_DATA_PARAMETERNAMES_H
#define MF_DATA_PARAMETERNAMES_H

#include "mf/Data/Safetensors.h"
#include "mf/Tensor/DType.h"
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

/// A way to name the parameters of a dense transformer.
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
  Mcore,           ///< decoder.layers.0.self_attention.linear_qkv
  // Hugging Face.
  HuggingFace,         ///< Llama, Mistral, Qwen2, Qwen3: self_attn.q_proj
  HuggingFaceBaichuan, ///< self_attn.W_pack
  HuggingFaceQwen,     ///< transformer.h.0.attn.c_attn
  HuggingFaceTelechat, ///< transformer.h.0.self_attention.key_value
  HuggingFaceChatGlm   ///< transformer.encoder.layers.0, word_embeddings
};

/// "Llama", "HuggingFaceChatGlm".
llvm::StringRef getName(NameScheme scheme);

/// Every scheme, in the order above.
llvm::ArrayRef<NameScheme> getAllNameSchemes();

/// What a parameter is in the model, whatever it is called.
enum class ParameterPart : uint8_t {
  Embedding,
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
  Head
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

/// A name taken apart. `layer` is -1 outside of the layers.
struct ParameterName {
  int64_t layer = -1;
  bool isBias = false;
  llvm::ArrayRef<ParameterPart> parts;
  RowOrder order = RowOrder::Contiguous;
};

/// What `name` is, or none if no scheme has such a name. Mcore names may start
/// with "model.".
std::optional<ParameterName> parseParameterName(llvm::StringRef name);

/// The names in `scheme` of the tensors that hold the parts of `name`, in the
/// order of the parts: one for the same or a larger tensor, several if `scheme`
/// stores the parts separately. Empty if `name` is unknown, or is something
/// that `scheme` has no name for.
std::vector<std::string> translateParameterName(llvm::StringRef name,
                                                NameScheme scheme);

/// What the names alone do not say.
struct ParameterLayout {
  int64_t numHeads = 0;
  int64_t numKeyValueHeads = 0;
  int64_t headSize = 0;
  /// The head may be loaded from the embedding if it has no tensor of its own.
  bool tiesWordEmbeddings = false;
  /// Rows of linear_qkv and linear_fc1, query_key_value and dense_h_to_4h where
  /// they are read and where they are written: Grouped in models here,
  /// Contiguous in files of Hugging Face and MindSpore Transformers under the
  /// same names.
  RowOrder sourceOrder = RowOrder::Contiguous;
  RowOrder targetOrder = RowOrder::Contiguous;
};

/// Rows [sourceRow, sourceRow + rows) of tensor `source` are rows [targetRow,
/// ...) of the parameter.
struct RowCopy {
  std::string source;
  int64_t sourceRow = 0;
  int64_t targetRow = 0;
  int64_t rows = 0;

  bool operator==(const RowCopy &other) const {
    return source == other.source && sourceRow == other.sourceRow &&
           targetRow == other.targetRow && rows == other.rows;
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
llvm::Expected<std::vector<RowCopy>>
planParameter(llvm::StringRef target, llvm::ArrayRef<int64_t> dims,
              DimsLookup lookup, const ParameterLayout &layout);

/// The same for the tensors of a checkpoint.
llvm::Expected<std::vector<RowCopy>>
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
/// planParameter: in the order of the first part of each. Fails on a parameter
/// that no scheme or this one has no name for, and on one whose rows are not
/// those of `layout`.
llvm::Expected<std::vector<NamedShape>>
convertParameterList(llvm::ArrayRef<NamedShape> parameters, NameScheme scheme,
                     const ParameterLayout &layout);

} // namespace mf

#endif // MF_DATA_PARAMETERNAMES_H
