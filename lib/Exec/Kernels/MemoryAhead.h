//===- MemoryAhead.h - Prefetching into caches ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Cache lines arrive from memory during computation if few are requested at a
// time. A processor stalls when too many requests are pending.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_EXEC_KERNELS_MEMORYAHEAD_H
#define MF_LIB_EXEC_KERNELS_MEMORYAHEAD_H

#include "Tiles.h"
#include "mf/Support/DType.h"
#include "llvm/ADT/SmallVector.h"

namespace mf {

/// Pieces of memory that are going to be read or written.
class MemoryAhead {
public:
  /// Adds `count` elements of a tensor from element `first` on.
  void add(DType type, const void *tensor, int64_t first, int64_t count) {
    if (count <= 0)
      return;
    const int64_t lines = (count * getBytes(type) + lineBytes - 1) / lineBytes;
    pieces.push_back(
        {static_cast<const char *>(at(tensor, type, first)), lines});
    waiting += lines;
  }

  /// Returns the number of lines that have not been requested yet.
  int64_t getWaiting() const { return waiting; }

  /// Requests the next `count` lines, as far as there are any.
  void fetch(int64_t count) {
    while (count > 0 && !pieces.empty()) {
      Piece &piece = pieces.back();
      const int64_t now = std::min(count, piece.lines);
      for (int64_t i = 0; i < now; ++i)
        __builtin_prefetch(piece.from + i * lineBytes, 0, 2);
      piece.from += now * lineBytes;
      piece.lines -= now;
      count -= now;
      waiting -= now;
      if (piece.lines == 0)
        pieces.pop_back();
    }
  }

private:
  static constexpr int64_t lineBytes = 64;

  struct Piece {
    const char *from;
    int64_t lines;
  };
  llvm::SmallVector<Piece, 8> pieces;
  int64_t waiting = 0;
};

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_MEMORYAHEAD_H
