//===- LossScaler.cpp - The loss scale over the steps ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Ranks/LossScaler.h"
#include <algorithm>
#include <cmath>

namespace mf::ranks {

void LossScaler::restore(float savedScale, int64_t savedCleanSteps) {
  if (!rule.isDynamic())
    return;
  scale = savedScale;
  cleanSteps = savedCleanSteps;
}

void LossScaler::update(bool overflow) {
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

} // namespace mf::ranks
