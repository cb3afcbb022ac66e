//===- LayerCosts.h - Costs of layers from compiled steps ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The costs of a layer under each treatment are fitted to compiled steps: the
// times and the memory of chunks with different layers are sums over their
// layers. The costs are exact if chunks match the model of Problem.h. The
// remainder is a correction of the stage.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PLAN_SETTINGS_LAYERCOSTS_H
#define MF_LIB_PLAN_SETTINGS_LAYERCOSTS_H

#include "lib/Plan/Settings/LinearCost.h"

namespace mf::planner {

/// All costs that are sums over layers.
struct AdditiveCosts {
  LinearCost forward, backward, weightGradient, recompute, frame, recomputed,
      parameters, update;

  AdditiveCosts(size_t kinds, size_t treatments)
      : forward(kinds, treatments), backward(kinds, treatments),
        weightGradient(kinds, treatments), recompute(kinds, treatments),
        frame(kinds, treatments), recomputed(kinds, treatments),
        parameters(kinds, 1), update(kinds, 1) {}
};

/// Memory that stages need in addition to the sums: the maximum over the
/// stage's parts.
struct TransientCosts {
  std::map<std::pair<size_t, size_t>, double> ofLayers;
  std::vector<double> ofExtras = {0, 0};
};

/// The costs of layers, in seconds and bytes.
struct LayerCosts {
  AdditiveCosts additive;
  TransientCosts transient;
  double transferTime = 0;
};

/// Returns the costs that explain the observations best. There must be at least
/// one.
LayerCosts fitCosts(const PlanContext &context,
                    llvm::ArrayRef<LayerObservation> observations);

/// Returns the problem of a context with these costs. Its schedule may differ
/// from that of the observations.
solver::Problem makeProblem(const PlanContext &context,
                            const LayerCosts &costs);

/// Corrects the constant memory of stages, so that peaks are right for the last
/// observation after the first `numProbes`, or else on average for those
/// probes. Copies change peaks differently in other plans, so steps with copies
/// are ignored.
void correctPeaks(const PlanContext &context,
                  llvm::ArrayRef<LayerObservation> observations,
                  size_t numProbes, solver::Problem &problem);

} // namespace mf::planner

#endif // MF_LIB_PLAN_SETTINGS_LAYERCOSTS_H
