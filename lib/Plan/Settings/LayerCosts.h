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

#include "lib/Plan/Settings/Composition.h"
#include "mf/Plan/Solver/Problem.h"

namespace mf::planner {

/// A cost that is a sum of contributions of layers and extras. If differences
/// between treatments of a kind are expected, only deviations from them are
/// fitted.
class LinearCost {
public:
  LinearCost(size_t numKinds, size_t numTreatments)
      : numKinds(numKinds), numTreatments(numTreatments),
        ofLayers(numKinds * numTreatments), ofExtras(2) {}

  /// Sets the cost of a treatment, up to a number that all treatments of the
  /// kind have in common and that is unknown. Must be called for all treatments
  /// or for none.
  void expect(size_t kind, size_t treatment, double value) {
    ofLayers[kind * numTreatments + treatment] = value;
    hasExpected = true;
  }

  double get(size_t kind, size_t treatment) const {
    return ofLayers[kind * numTreatments + treatment];
  }
  double getExtra(size_t extra) const { return ofExtras[extra]; }

  void add(const Composition &composition, double value) {
    rows.emplace_back(composition, value);
  }

  /// Computes the least-squares solution. If several are equally good, it is
  /// the smallest one, or the one nearest to the expected differences. Costs
  /// are not negative.
  void solve();

  double predict(const Composition &composition) const {
    double sum = 0;
    for (const auto &[key, count] : composition.layers)
      sum += static_cast<double>(count) * get(key.first, key.second);
    for (const size_t extra : composition.extras)
      sum += ofExtras[extra];
    return sum;
  }

private:
  size_t numKinds, numTreatments;
  bool hasExpected = false;
  std::vector<double> ofLayers, ofExtras;
  std::vector<std::pair<Composition, double>> rows;
};

/// Returns the indices of the treatments on the lower convex hull of `memory`
/// and `time`, in descending order of memory. A mixture of other treatments
/// takes longer than one of two neighbours on the hull that keeps as much.
std::vector<size_t> findHull(llvm::ArrayRef<double> memory,
                             llvm::ArrayRef<double> time);

/// Allows a chunk to mix only two neighbours of the hull, and swap with them.
/// For equal layers, additional treatments gain next to nothing and make a YAML
/// harder to read. Also limits a chunk to twice the average number of layers
/// or, if stages have several chunks, to one more or less than it.
void restrictMixtures(const PlanContext &context, solver::Problem &problem);

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
