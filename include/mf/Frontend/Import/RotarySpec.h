//===- RotarySpec.h - Rotary position embedding -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_FRONTEND_IMPORT_ROTARYSPEC_H
#define MF_FRONTEND_IMPORT_ROTARYSPEC_H

#include <cstdint>
#include <vector>

namespace mf {

/// Rotary position embedding (Su et al., 2021).
struct RotarySpec {
  /// The dimensions of a head that are rotated. The others are not changed.
  int64_t size = 0;
  /// The base of the geometric series of wave lengths.
  double base = 10000.0;
  /// The factor on positions: 1 / scaling_factor for position interpolation.
  double positionScale = 1.0;
  /// If not empty, replaces the series of `base`. It has one frequency per pair
  /// of dimensions, or one for each dimension.
  std::vector<double> frequencies;
  /// The factor on cosine and sine (YaRN).
  double amplitude = 1.0;
  /// True if neighbouring dimensions are rotated together (ChatGLM) instead of
  /// the two halves of a head.
  bool rotatesPairs = false;
  /// True if neighbouring dimensions are moved to the two halves of a head
  /// before these are rotated (latent attention of the mcore graph).
  bool movesPairs = false;
  /// True for the two-dimensional positions of Du et al. (2022). One half of a
  /// head is rotated by the position in the prefix, which after the prefix is
  /// that of its last token. The other half is rotated by the position after
  /// the prefix, which within it is 0. `size` is that of one half.
  bool isTwoDimensional = false;
};

} // namespace mf

#endif // MF_FRONTEND_IMPORT_ROTARYSPEC_H
