//===- CellName.h - Names in the Cell tree ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_DIALECTS_MF_CELLNAME_H
#define MF_DIALECTS_MF_CELLNAME_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>

namespace mf::ir {

/// Returns the layer that an operator of a chunk belongs to: `layers.3` for
/// `layers.3.attention.wq.matmul`, and the first component of any other name.
inline llvm::StringRef getLayerOfCell(llvm::StringRef cell) {
  size_t end = cell.find('.');
  if (cell.take_front(end) == "layers" && end != llvm::StringRef::npos)
    end = cell.find('.', end + 1);
  return cell.take_front(end);
}

/// Returns the index of the layer that an operator of a chunk belongs to: 3 for
/// `layers.3.attention.wq.matmul`, and none for any other name.
inline std::optional<int64_t> getLayerNumberOfCell(llvm::StringRef cell) {
  llvm::StringRef layer = getLayerOfCell(cell);
  int64_t number = 0;
  if (!layer.consume_front("layers.") || layer.getAsInteger(10, number))
    return std::nullopt;
  return number;
}

} // namespace mf::ir

#endif // MF_DIALECTS_MF_CELLNAME_H
