//===- LossScaler.h - The loss scale over the steps -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_EXEC_RANKS_LOSSSCALER_H
#define MF_EXEC_RANKS_LOSSSCALER_H

#include "mf/Program/Program.h"

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
  void restore(float savedScale, int64_t savedCleanSteps);

  /// Ends a step. After an overflow the scale is at least 1. If the increased
  /// scale does not fit fp32, the scale stays.
  void update(bool overflow);

private:
  program::LossScale rule;
  float scale;
  int64_t cleanSteps = 0;
};

} // namespace mf::ranks

#endif // MF_EXEC_RANKS_LOSSSCALER_H
