//===- Scratch.h - Scratch memory of threads --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The host's counterpart of on-chip memory. The compiler plans temporaries in
// HBM, so nothing of the size of a tensor may be here, and nothing that all
// tiles of a kernel share, for which there is the workspace.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_EXEC_KERNELS_SCRATCH_H
#define MF_LIB_EXEC_KERNELS_SCRATCH_H

#include "llvm/Support/MemAlloc.h"
#include <cstddef>

namespace mf {

/// The purpose of a buffer: one buffer of each kind may be in use at a time on
/// a thread.
enum class ScratchUse {
  /// Private to the tile being computed.
  Tile,
  /// For oneDNN's scratchpad.
  Library,
  /// Blocks converted to f32 for a matrix product.
  Conversion,
  /// Partial sums of a tile.
  Sums
};
constexpr size_t scratchUses = 4;

/// Returns at least `bytes` bytes, aligned to 64, with unspecified contents.
/// They are valid until this thread requests more for the same use. A failed
/// allocation ends the program, as in LLVM's allocators.
inline void *getScratch(ScratchUse use, size_t bytes) {
  constexpr size_t alignment = 64;
  struct Buffer {
    void *memory = nullptr;
    size_t bytes = 0;

    ~Buffer() { release(); }
    void release() {
      if (memory)
        llvm::deallocate_buffer(memory, bytes, alignment);
    }
  };
  thread_local Buffer buffers[scratchUses];
  Buffer &buffer = buffers[static_cast<size_t>(use)];
  if (buffer.bytes < bytes) {
    buffer.release();
    buffer.memory = llvm::allocate_buffer(bytes, alignment);
    buffer.bytes = bytes;
  }
  return buffer.memory;
}

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_SCRATCH_H
