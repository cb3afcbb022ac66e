//===- LossScaler.h - The loss scale over the steps -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_EXEC_RANKS_LOSSSCALER_H
#define MF_EXEC_RANKS_LOSSSCALER_H

#include "mf/Program/Program.h"
#include <algorithm>
#include <cmath>

namespace mf::ranks {

/// Computes the scale of each step as MindSpore's loss scale cells do: fixed,
/// or adapted to overflows (program::LossScale). All arithmetic is in fp32.
class LossScaler {
public:
  explicit LossScaler(const program::LossScale &rule)
      : rule(rule), scale(rule.value) {}

  /// Returns the scale of the next step.
  float getScale() const { return scale; }
  /// Returns the number of steps without overflow since the scale last changed.
  int64_t getCleanSteps() const { return cleanSteps; }

  /// Continues from the state of another run. A fixed scale is not changed.
  void restore(float savedScale, int64_t savedCleanSteps) {
    if (!rule.isDynamic())
      return;
    scale = savedScale;
    cleanSteps = savedCleanSteps;
  }

  /// Ends a step. After an overflow the scale is at least 1. If the increased
  /// scale does not fit fp32, the scale stays.
  void update(bool overflow) {
    if (!rule.isDynamic())
      return;
    const auto factor = static_cast<float>(rule.factor);
    if (overflow) {
      scale = std::max(scale / factor, 1.0F);
      cleanSteps = 0;
      return;
    }
    if (++cleanSteps < rule.window)
      return;
    cleanSteps = 0;
    if (std::isfinite(scale * factor))
      scale *= factor;
  }

private:
  program::LossScale rule;
  float scale;
  int64_t cleanSteps = 0;
};

} // namespace mf::ranks

#endif // MF_EXEC_RANKS_LOSSSCALER_H
