//===- ShapeText.h - Shapes in messages -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_SUPPORT_SHAPETEXT_H
#define MF_SUPPORT_SHAPETEXT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cstdint>
#include <string>

namespace mf {

/// Formats dimensions, for example "[2, 3]".
inline std::string printDims(llvm::ArrayRef<int64_t> dims) {
  std::string text = "[";
  text += llvm::join(
      llvm::map_range(dims, [](int64_t dim) { return std::to_string(dim); }),
      ", ");
  return text + "]";
}

} // namespace mf

#endif // MF_SUPPORT_SHAPETEXT_H
