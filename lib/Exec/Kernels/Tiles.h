//===- Tiles.h - Cutting work into a fixed grid ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_KERNELS_TILES_H
#define MF_LIB_EXEC_KERNELS_TILES_H

#include "mf/Program/Signatures/KernelBlocks.h"
#include <algorithm>
#include <cstdint>

namespace mf {

/// A range cut into pieces of `size`, the last one possibly shorter.
struct Tiles {
  struct Range {
    int64_t begin, size;
  };

  Tiles(int64_t total, int64_t size)
      : total(total), size(size), count((total + size - 1) / size) {}

  Range operator[](int64_t tile) const {
    int64_t begin = tile * size;
    return {begin, std::min(size, total - begin)};
  }

  int64_t total, size, count;
};

/// Returns tiles of rows of `columns` elements, with about `elementsPerTile`
/// elements each.
inline Tiles tileRows(int64_t rows, int64_t columns) {
  return {rows, std::max<int64_t>(1, elementsPerTile / columns)};
}

/// Returns the address of element `index` of a tensor of `type`.
inline const void *at(const void *base, DType type, int64_t index) {
  return static_cast<const char *>(base) + index * getBytes(type);
}
inline void *at(void *base, DType type, int64_t index) {
  return static_cast<char *>(base) + index * getBytes(type);
}

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_TILES_H
