//===- ParameterNameTable.h - All names of all schemes --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_DATA_PARAMETERNAMETABLE_H
#define MF_LIB_EXEC_DATA_PARAMETERNAMETABLE_H

#include "mf/Exec/Data/ParameterNames.h"
#include "llvm/ADT/STLExtras.h"
#include <string>

namespace mf {

/// One to three parts, in their order in a tensor.
struct PartList {
  constexpr PartList(ParameterPart first) : parts{first}, count(1) {}
  constexpr PartList(ParameterPart first, ParameterPart second)
      : parts{first, second}, count(2) {}
  constexpr PartList(ParameterPart first, ParameterPart second,
                     ParameterPart third)
      : parts{first, second, third}, count(3) {}

  llvm::ArrayRef<ParameterPart> get() const { return {parts, count}; }

  ParameterPart parts[3];
  size_t count;
};

/// The source of the queries, keys and values of an attention.
enum class AttentionKind : uint8_t {
  /// Queries, keys and values are computed from the hidden state.
  Heads,
  /// They are computed from latent vectors.
  Latent,
  /// Keys and values are computed from a latent vector, queries are not.
  DirectQueries,
  /// As Heads, but Hugging Face's files have the transposed weights.
  TransposedHeads
};

/// One name, in the schemes that have it. In `pattern`, '#' stands for the
/// index of the layer, '%' for its index among those that predict additional
/// tokens, '@' for the expert's, '*' for weight or bias and '~' for gamma or
/// beta.
struct ParameterPattern {
  uint32_t schemes;
  const char *pattern;
  PartList parts;
  RowOrder order = RowOrder::Contiguous;
  TensorForm form = TensorForm::Rows;
  /// Has a bit for each AttentionKind with which the name has this meaning.
  uint8_t kinds = 0b1111;
  bool rotatesPairs = false;

  bool isIn(NameScheme scheme) const {
    return (schemes >> static_cast<unsigned>(scheme) & 1) != 0;
  }
  bool isOf(AttentionKind kind) const {
    return (kinds >> static_cast<unsigned>(kind) & 1) != 0;
  }
  bool has(ParameterPart part) const {
    return llvm::is_contained(parts.get(), part);
  }

  /// Returns the name of the weight or bias in `where`'s layer and for its
  /// expert. Empty if a bias is requested and the pattern has none, or if there
  /// is no such layer.
  std::string getName(const ParameterName &where,
                      const ParameterLayout &layout) const;

  /// Returns the parameter that the name has in `where`'s layer and for its
  /// expert.
  ParameterName describe(const ParameterName &where) const;
};

/// Returns the patterns that have a meaning with `layout`. A scheme has at most
/// one for each part.
llvm::ArrayRef<const ParameterPattern *>
getParameterPatterns(const ParameterLayout &layout);

/// Returns the pattern that `name` matches, and stores the values of '#', '@',
/// '*' and '~' in `where`; null if there is none.
const ParameterPattern *matchParameterPattern(llvm::StringRef name,
                                              const ParameterLayout &layout,
                                              ParameterName &where);

// Return the tables by the kind of parameters that they list.
llvm::ArrayRef<ParameterPattern> getDensePatterns();
llvm::ArrayRef<ParameterPattern> getExpertPatterns();
llvm::ArrayRef<ParameterPattern> getLatentPatterns();
llvm::ArrayRef<ParameterPattern> getPredictionPatterns();

} // namespace mf

#endif // MF_LIB_EXEC_DATA_PARAMETERNAMETABLE_H
