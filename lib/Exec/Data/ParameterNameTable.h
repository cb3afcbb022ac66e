//===- ParameterNameTable.h - All names of all schemes --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_DATA_PARAMETERNAMETABLE_H
#define MF_LIB_EXEC_DATA_PARAMETERNAMETABLE_H

#include "mf/Exec/Data/ParameterNames.h"
#include "llvm/ADT/STLExtras.h"
#include <string>

namespace mf {

/// One name, in the schemes that have it. In `pattern`, '#' stands for the
/// index of the layer, '$' for that of one which does not predict additional
/// tokens, '%' for the index among those that do, '@' for the expert's, '*' for
/// weight or bias and '~' for gamma or beta.
struct ParameterPattern {
  uint32_t schemes;
  std::string pattern;
  Stored stored;
  /// ModelCells::extraPrefix and missingPrefix of the first scheme that has
  /// one.
  llvm::StringRef extraPrefix, missingPrefix;

  bool isIn(NameScheme scheme) const {
    return (schemes >> static_cast<unsigned>(scheme) & 1) != 0;
  }
  bool has(ParameterPart part) const {
    return llvm::is_contained(stored.parts.get(), part);
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
llvm::ArrayRef<ParameterPattern>
getParameterPatterns(const ParameterLayout &layout);

/// Returns the pattern that `name` matches, and stores the values of '#', '@',
/// '*' and '~' in `where`; null if there is none.
const ParameterPattern *matchParameterPattern(llvm::StringRef name,
                                              const ParameterLayout &layout,
                                              ParameterName &where);

} // namespace mf

#endif // MF_LIB_EXEC_DATA_PARAMETERNAMETABLE_H
