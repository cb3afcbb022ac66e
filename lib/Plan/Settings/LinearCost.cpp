//===- LinearCost.cpp - Sums over layers --------------------------------===//

#include "lib/Plan/Settings/LinearCost.h"
#include <Eigen/QR>
#include <algorithm>

using namespace mf::planner;

void LinearCost::solve() {
  const auto columns =
      static_cast<Eigen::Index>(ofLayers.size() + ofExtras.size());
  Eigen::MatrixXd matrix =
      Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(rows.size()), columns);
  Eigen::VectorXd values(static_cast<Eigen::Index>(rows.size()));
  for (size_t row = 0; row < rows.size(); ++row) {
    const auto at = static_cast<Eigen::Index>(row);
    for (const auto &[key, count] : rows[row].first.layers)
      matrix(at, static_cast<Eigen::Index>(key.first * numTreatments +
                                           key.second)) =
          static_cast<double>(count);
    for (const size_t extra : rows[row].first.extras)
      matrix(at, static_cast<Eigen::Index>(ofLayers.size() + extra)) = 1;
    values(at) = rows[row].second;
  }
  const Eigen::VectorXd solution =
      matrix.completeOrthogonalDecomposition().solve(values);
  for (size_t index = 0; index < ofLayers.size(); ++index)
    ofLayers[index] = std::max(0.0, solution(static_cast<Eigen::Index>(index)));
  for (size_t index = 0; index < ofExtras.size(); ++index)
    ofExtras[index] = std::max(
        0.0, solution(static_cast<Eigen::Index>(ofLayers.size() + index)));
}
