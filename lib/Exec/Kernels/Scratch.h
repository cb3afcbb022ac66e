//===- Scratch.h - Memory that a thread keeps for its tiles ---*- C++ -*-===//
//
// The host's stand-in for on-chip memory. HBM temporaries are the compiler's to
// plan, so nothing of the size of a tensor belongs here, and nothing that all
// tiles of a kernel share: that is its workspace.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_KERNELS_SCRATCH_H
#define MF_LIB_KERNELS_SCRATCH_H

#include <cstddef>

namespace mf {

/// The purpose of a buffer: one buffer of each kind may be in use at a time on
/// a thread.
enum class ScratchUse {
  /// Private to the tile being computed.
  Tile,
  /// oneDNN's scratchpad.
  Library,
  /// Blocks converted to f32 for a matrix product.
  Conversion,
  /// Partial sums of a tile.
  Sums
};
constexpr size_t scratchUses = 4;

/// At least `bytes` bytes, aligned to 64, with unspecified contents. Valid
/// until this thread asks for more of the same use. A failed allocation ends
/// the program, as it does in LLVM's allocators.
void *getScratch(ScratchUse use, size_t bytes);

} // namespace mf

#endif // MF_LIB_KERNELS_SCRATCH_H
