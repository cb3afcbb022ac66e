//===- StreamedOutput.h - Stores that bypass the caches ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A normal store to memory that is not in a cache reads the memory first.
// Streamed stores avoid this. They are used for an output so large that its
// begin has left the caches when its end is written.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_EXEC_KERNELS_STREAMEDOUTPUT_H
#define MF_LIB_EXEC_KERNELS_STREAMEDOUTPUT_H

#include "Tiles.h"

namespace mf {

/// Returns whether an output of this size should bypass the caches.
inline bool isStreamed(int64_t bytes) { return bytes > (int64_t{32} << 20); }

/// Copies `bytes` to memory that need not be aligned, past the caches.
void streamCopy(const void *from, void *to, int64_t bytes);
/// Writes zeros past the caches.
void streamZeros(void *to, int64_t bytes);
/// Makes streamed stores visible. Must be called after them, before other
/// threads may read the written elements.
void finishStreaming();

/// Calls `compute(begin, size, to)` to write the elements [begin, begin + size)
/// of `count` elements at `target`: all at once or, if `streamed` is true, in
/// pieces to a small buffer.
template <typename Compute>
void writeOutput(bool streamed, DType type, void *target, int64_t count,
                 const Compute &compute) {
  if (!streamed)
    return compute(int64_t{0}, count, target);
  constexpr int64_t elements = 1024;
  alignas(64) char buffer[elements * sizeof(int64_t)];
  for (int64_t begin = 0; begin < count; begin += elements) {
    const int64_t size = std::min(elements, count - begin);
    compute(begin, size, static_cast<void *>(buffer));
    streamCopy(buffer, at(target, type, begin), size * getBytes(type));
  }
  finishStreaming();
}

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_STREAMEDOUTPUT_H
