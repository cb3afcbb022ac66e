//===- MemoryAhead.h - Prefetching into caches ------------------*- C++ -*-===//
//
// Lines of memory far away come while something is computed, if few are asked
// for at a time: a processor waits when too many are on their way.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_KERNELS_MEMORYAHEAD_H
#define MF_LIB_KERNELS_MEMORYAHEAD_H

#include "Tiles.h"
#include "mf/Support/DType.h"
#include "llvm/ADT/SmallVector.h"

namespace mf {

/// Pieces of memory that are going to be read or written.
class MemoryAhead {
public:
  /// `count` elements of a tensor from element `first` on.
  void add(DType type, const void *tensor, int64_t first, int64_t count) {
    if (count <= 0)
      return;
    const int64_t lines = (count * getBytes(type) + lineBytes - 1) / lineBytes;
    pieces.push_back(
        {static_cast<const char *>(at(tensor, type, first)), lines});
    waiting += lines;
  }

  /// How many lines have not been asked for.
  int64_t getWaiting() const { return waiting; }

  /// Asks for the next lines, `count` if there are as many.
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

#endif // MF_LIB_KERNELS_MEMORYAHEAD_H
