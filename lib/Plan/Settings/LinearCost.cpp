//===- LinearCost.cpp - Sums over layers --------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Plan/Settings/LinearCost.h"
#include <Eigen/QR>
#include <algorithm>

using namespace mf::planner;

/// The weight of the number that all treatments of a kind have in common,
/// relative to those of single treatments: deviations from expected differences
/// are attributed to it rather than to a treatment.
static constexpr double commonWeight = 10;

void LinearCost::solve() {
  const size_t extras = ofLayers.size(), kinds = extras + ofExtras.size();
  const double weight = hasExpected ? commonWeight : 1;
  Eigen::MatrixXd matrix = Eigen::MatrixXd::Zero(
      static_cast<Eigen::Index>(rows.size()),
      static_cast<Eigen::Index>(kinds + (hasExpected ? numKinds : 0)));
  Eigen::VectorXd values(static_cast<Eigen::Index>(rows.size()));
  auto at = [&](size_t row, size_t column) -> double & {
    return matrix(static_cast<Eigen::Index>(row),
                  static_cast<Eigen::Index>(column));
  };
  for (size_t row = 0; row < rows.size(); ++row) {
    const auto &[composition, value] = rows[row];
    for (const auto &[key, count] : composition.layers) {
      at(row, key.first * numTreatments + key.second) =
          static_cast<double>(count);
      if (hasExpected)
        at(row, kinds + key.first) += weight * static_cast<double>(count);
    }
    for (const size_t extra : composition.extras)
      at(row, extras + extra) = weight;
    values(static_cast<Eigen::Index>(row)) = value - predict(composition);
  }
  const Eigen::VectorXd solution =
      matrix.completeOrthogonalDecomposition().solve(values);
  auto get = [&](size_t column) {
    return solution(static_cast<Eigen::Index>(column));
  };
  for (size_t index = 0; index < ofLayers.size(); ++index) {
    const double common =
        hasExpected ? weight * get(kinds + index / numTreatments) : 0;
    ofLayers[index] = std::max(0.0, ofLayers[index] + common + get(index));
  }
  for (size_t index = 0; index < ofExtras.size(); ++index)
    ofExtras[index] = std::max(0.0, weight * get(extras + index));
}
