//===- LossScaler.h - The loss scale over the steps -----------*- C++ -*-===//

#ifndef MF_RANKS_LOSSSCALER_H
#define MF_RANKS_LOSSSCALER_H

#include "mf/Program/Program.h"

namespace mf::ranks {

/// The scale of each step as MindSpore's loss scale cells compute it: fixed, or
/// following overflows (program::LossScale). All arithmetic is in fp32.
class LossScaler {
public:
  explicit LossScaler(const program::LossScale &rule)
      : rule(rule), scale(rule.value) {}

  /// The scale of the next step.
  float getScale() const { return scale; }
  /// Steps without overflow since the scale last changed.
  int64_t getCleanSteps() const { return cleanSteps; }

  /// Goes on where another run was. A fixed scale stays the program's.
  void restore(float savedScale, int64_t savedCleanSteps);

  /// Ends a step. An overflow leaves a scale of at least 1; a product that fp32
  /// cannot hold leaves the scale as it is.
  void update(bool overflow);

private:
  program::LossScale rule;
  float scale;
  int64_t cleanSteps = 0;
};

} // namespace mf::ranks

#endif // MF_RANKS_LOSSSCALER_H
