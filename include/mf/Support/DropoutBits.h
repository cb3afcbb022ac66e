//===- DropoutBits.h - The random bits of dropout ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A bit depends on the number of its element in the whole tensor, not on the
// part that a rank has of it, nor on earlier draws.
//
//===----------------------------------------------------------------------===//

#ifndef MF_SUPPORT_DROPOUTBITS_H
#define MF_SUPPORT_DROPOUTBITS_H

#include <array>
#include <cstdint>
#include <vector>

namespace mf {

/// The number of bits in a unit of a mask. Masks are padded to whole units.
constexpr int64_t dropoutBitsOfUnit = 128;

/// A mask of a part of a tensor.
struct DropoutDraw {
  /// The sizes of the part and of the whole tensor, and where the part starts
  /// in it.
  std::vector<int64_t> sizes, whole, starts;
  /// An element is kept, a 1 in the mask, if its word is at least this.
  uint32_t threshold = 0;
  /// The key of the operator that drops: the hash of its name (Philox.h).
  uint64_t key = 0;
  /// The seed, the number of the step's update and that of the micro-batch.
  std::array<int64_t, 3> draw = {};
};

/// Returns the threshold of elements that are dropped at `rate`.
uint32_t getDropThreshold(double rate);

/// Draws the bits of bytes [begin, begin + size) of `mask`, which points to the
/// begin of the whole mask.
void drawDropoutBits(const DropoutDraw &what, int64_t begin, int64_t size,
                     uint8_t *mask);

} // namespace mf

#endif // MF_SUPPORT_DROPOUTBITS_H
