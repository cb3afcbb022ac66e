//===- DropMask.h - Elements that a mask keeps ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_KERNELS_DROPMASK_H
#define MF_LIB_EXEC_KERNELS_DROPMASK_H

#include <cstdint>

namespace mf {

class SpecChecker;

/// Reads `rate`, which must be above 0 and below 1.
double readDropRate(SpecChecker &checker);

/// Returns the factor of kept elements.
inline float getKeptFactor(double rate) {
  return static_cast<float>(1 / (1 - rate));
}

/// Multiplies values by `factor` where bits from `first` on of a mask are 1,
/// and makes the others 0.
inline void applyDropMask(const uint8_t *mask, int64_t first, float factor,
                          float *values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t bit = first + i;
    values[i] =
        (mask[bit / 8] >> (bit % 8) & 1) != 0 ? values[i] * factor : 0.0F;
  }
}

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_DROPMASK_H
