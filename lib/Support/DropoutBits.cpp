//===- DropoutBits.cpp - The random bits of dropout -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Support/DropoutBits.h"
#include "mf/Support/Philox.h"
#include <algorithm>
#include <cstring>

namespace mf {

namespace {

/// The random words that decide which elements of one tensor are dropped.
class ElementWords {
public:
  explicit ElementWords(const DropoutDraw &what) {
    const auto seed = static_cast<uint64_t>(what.draw[0]);
    // Only the lower 32 bits of the step and the micro-batch count, because no
    // run has as many.
    const std::array<uint32_t, 4> bits = philox4x32(
        {low(what.key), high(what.key), low(what.draw[1]), low(what.draw[2])},
        {low(seed), high(seed)});
    own = {bits[0], bits[1]};
    upper = {bits[2], bits[3]};
  }

  /// Returns the four words for elements 4 * group to 4 * group + 3.
  std::array<uint32_t, 4> get(uint64_t group) const {
    return philox4x32({low(group), high(group), upper[0], upper[1]}, own);
  }

private:
  static uint32_t low(uint64_t value) { return static_cast<uint32_t>(value); }
  static uint32_t high(uint64_t value) {
    return static_cast<uint32_t>(value >> 32);
  }

  std::array<uint32_t, 2> own, upper;
};

} // namespace

/// Draws the elements from `element` on that are contiguous in the whole
/// tensor, and returns their number.
static int64_t drawRun(const DropoutDraw &what, const ElementWords &words,
                       int64_t element, int64_t end, uint8_t *mask) {
  int64_t number = 0, stride = 1, rest = element;
  for (size_t dim = what.sizes.size(); dim-- > 0;) {
    number += (what.starts[dim] + rest % what.sizes[dim]) * stride;
    rest /= what.sizes[dim];
    stride *= what.whole[dim];
  }
  const int64_t width = what.sizes.empty() ? 1 : what.sizes.back();
  const int64_t run = std::min(end - element, width - element % width);
  for (int64_t i = 0; i < run;) {
    const auto place = static_cast<uint64_t>(number + i);
    const std::array<uint32_t, 4> drawn = words.get(place / 4);
    for (uint64_t word = place % 4; word < 4 && i < run; ++word, ++i) {
      const int64_t bit = element + i;
      if (drawn[word] >= what.threshold)
        mask[bit / 8] |= static_cast<uint8_t>(1U << (bit % 8));
    }
  }
  return run;
}

uint32_t getDropThreshold(double rate) {
  return static_cast<uint32_t>(std::min(rate * 0x1p32, 0x1p32 - 1));
}

void drawDropoutBits(const DropoutDraw &what, int64_t begin, int64_t size,
                     uint8_t *mask) {
  const ElementWords words(what);
  int64_t count = 1;
  for (const int64_t extent : what.sizes)
    count *= extent;
  std::memset(mask + begin, 0, size);
  const int64_t end = std::min((begin + size) * 8, count);
  for (int64_t element = begin * 8; element < end;)
    element += drawRun(what, words, element, end, mask);
}

} // namespace mf
