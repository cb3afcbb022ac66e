//===- LinearCost.h - Sums over layers -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PLAN_SETTINGS_LINEARCOST_H
#define MF_LIB_PLAN_SETTINGS_LINEARCOST_H

#include "lib/Plan/Settings/Composition.h"

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

} // namespace mf::planner

#endif // MF_LIB_PLAN_SETTINGS_LINEARCOST_H
