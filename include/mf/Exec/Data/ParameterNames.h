//===- ParameterNames.h - Naming schemes of parameters ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A parameter has different names, and may be stored in one tensor together
// with others, in the checkpoints of MindSpore Transformers' model families,
// with and without qkv_concat, and in those of Hugging Face. This library knows
// these names, and which rows of which tensors make up a parameter, so that a
// checkpoint of one kind can be loaded into a model of another.
//
// All kinds store linear layers as [out, in] and rotate query and key in the
// same way, so that whole rows are moved and nothing is transposed or permuted
// within a head. There are three exceptions. Hugging Face's GPT-2 stores [in,
// out]. Experts are stacked in one tensor or are a tensor each, transposed or
// not. Latent attention rotates the halves of a head in one kind of checkpoint
// and neighbouring rows in the other, so that there the rows of a head are
// permuted.
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_DATA_PARAMETERNAMES_H
#define MF_EXEC_DATA_PARAMETERNAMES_H

#include "mf/Exec/Data/Safetensors.h"
#include "mf/Frontend/Families/Family.h"
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

/// The meaning of a name. `layer` is -1 outside of the layers, and `expert` is
/// -1 if the name is not that of a single expert. Layers that predict
/// additional tokens are numbered after the others.
struct ParameterName {
  int64_t layer = -1;
  int64_t expert = -1;
  bool isBias = false;
  llvm::ArrayRef<ParameterPart> parts;
  RowOrder order = RowOrder::Contiguous;
  TensorForm form = TensorForm::Rows;
  /// True if neighbouring rows of the rotated part are rotated together, false
  /// if corresponding rows of its two halves are.
  bool rotatesPairs = false;

  bool isStacked() const {
    return form == TensorForm::Stacked || form == TensorForm::StackedTransposed;
  }
};

/// The sizes of latent attention. Sizes of heads are per head.
struct LatentSizes {
  /// The size of the latent query; 0 if queries are computed from the hidden
  /// state.
  int64_t querySize = 0;
  int64_t keyValueSize = 0;
  int64_t nopeSize = 0;
  int64_t ropeSize = 0;
  int64_t valueSize = 0;
};

/// Properties of the model that the names of its parameters do not reveal.
struct ParameterLayout {
  int64_t numHeads = 0;
  int64_t numKeyValueHeads = 0;
  int64_t headSize = 0;
  /// The sizes of latent attention. Empty for other attention. numHeads is the
  /// number of its heads.
  std::optional<LatentSizes> latent;
  int64_t numExperts = 0;
  /// The number of blocks of w_gate_hidden of experts. A block has the gates of
  /// some neurons, then their ups. There is one for each model-parallel rank.
  int64_t gateUpBlocks = 1;
  /// The number of layers without those that predict additional tokens.
  int64_t numLayers = 0;
  /// True for GPT-2, whose queries, keys and values are one transposed tensor
  /// in Hugging Face's files.
  bool transposesQueries = false;
  /// True if the head may be loaded from the embedding when it has no tensor of
  /// its own.
  bool tiesWordEmbeddings = false;
  /// The order of the rows of linear_qkv, linear_fc1, query_key_value and
  /// dense_h_to_4h in the source and in the target. It is Grouped in our
  /// models, and Contiguous in files of Hugging Face and MindSpore Transformers
  /// with the same names.
  RowOrder sourceOrder = RowOrder::Contiguous;
  RowOrder targetOrder = RowOrder::Contiguous;
};

/// Returns the meaning of `name`, or none if no scheme has such a name.
/// `layout` resolves ambiguities: some names have different meanings in latent
/// and other attention, and layers that predict additional tokens are
/// recognised by the number of layers. Mcore names may start with "model.".
std::optional<ParameterName>
parseParameterName(llvm::StringRef name, const ParameterLayout &layout = {});

/// Returns the names in `scheme` of the tensors that hold the parts of `name`,
/// in the order of experts and parts. There is one name for the same or a
/// larger tensor, and several if `scheme` stores the parts separately. Empty if
/// `name` is unknown or has no counterpart in `scheme`.
std::vector<std::string>
translateParameterName(llvm::StringRef name, NameScheme scheme,
                       const ParameterLayout &layout = {});

/// The place of a block in a tensor. All fields are in elements.
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

/// A block of tensor `source` that becomes a block of the parameter.
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

/// Returns the dimensions of the source's tensor of a name, or none if there is
/// no such tensor.
using DimsLookup =
    llvm::function_ref<std::optional<llvm::ArrayRef<int64_t>>(llvm::StringRef)>;

/// Plans how the parameter `target` of dimensions `dims` is assembled from the
/// tensors of a source, in the order of its rows. The source's scheme is found
/// by looking up its names. A tensor with exactly the parameter's name is
/// preferred. Fails if a part is missing (the error lists all names that were
/// looked up) or if dimensions do not fit.
llvm::Expected<std::vector<BlockCopy>>
planParameter(llvm::StringRef target, llvm::ArrayRef<int64_t> dims,
              DimsLookup lookup, const ParameterLayout &layout);

/// A tensor without its contents.
struct NamedShape {
  std::string name;
  TensorShape shape;

  bool operator==(const NamedShape &other) const {
    return name == other.name && shape == other.shape;
  }
};

/// Returns the tensors in `scheme` that hold `parameters`, in the order of
/// their first parts, to be written by means of planParameter. A model with
/// layers that predict additional tokens also gets the copies of embedding and
/// head that `scheme` has for them. Fails on a parameter that has no name in
/// any scheme or in this one, and on one whose rows do not match `layout`.
llvm::Expected<std::vector<NamedShape>>
convertParameterList(llvm::ArrayRef<NamedShape> parameters, NameScheme scheme,
                     const ParameterLayout &layout);

} // namespace mf

#endif // MF_EXEC_DATA_PARAMETERNAMES_H
