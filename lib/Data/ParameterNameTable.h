//===- ParameterNameTable.h - All names of all schemes --------*- C++ -*-===//

#ifndef MF_LIB_DATA_PARAMETERNAMETABLE_H
#define MF_LIB_DATA_PARAMETERNAMETABLE_H

#include "mf/Data/ParameterNames.h"
#include "llvm/ADT/STLExtras.h"
#include <string>

namespace mf {

/// One to three parts, in the order of their rows.
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

/// One name, in the schemes that have it. In `pattern`, '#' stands for the
/// layer's number and '*' for weight or bias.
struct ParameterPattern {
  uint32_t schemes;
  const char *pattern;
  PartList parts;
  RowOrder order = RowOrder::Contiguous;

  bool isIn(NameScheme scheme) const {
    return (schemes >> static_cast<unsigned>(scheme) & 1) != 0;
  }
  bool has(ParameterPart part) const {
    return llvm::is_contained(parts.get(), part);
  }

  /// The name of a layer's weight or bias; empty if the pattern has no bias and
  /// one is asked for.
  std::string getName(int64_t layer, bool isBias) const;
};

/// Every pattern. A scheme has at most one for each part.
llvm::ArrayRef<ParameterPattern> getParameterPatterns();

/// The pattern that `name` fits, with what stands for '#' and '*'; null if
/// there is none.
const ParameterPattern *matchParameterPattern(llvm::StringRef name,
                                              int64_t &layer, bool &isBias);

} // namespace mf

#endif // MF_LIB_DATA_PARAMETERNAMETABLE_H
