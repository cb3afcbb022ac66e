//===- Branching.h - Splits a set of plans in two ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PLAN_SOLVER_BRANCHING_H
#define MF_LIB_PLAN_SOLVER_BRANCHING_H

#include "PathMixture.h"
#include <map>
#include <tuple>

namespace mf::solver {

/// A decision that divides the options of a stage into two halves, by a number
/// that each option has.
struct Decision {
  size_t stage = 0;
  /// The number of the feature, as for getFeature.
  size_t feature = 0;
  double threshold = 0;
  bool isAtMost = true;

  bool allows(const StageOptions &options, int32_t option) const;
};

/// Returns a feature of an option. Features are the layers of the stage, those
/// of its chunks, those of its chunks by kind, its durations, and the index of
/// the option.
double getFeature(const StageOptions &options, int32_t option, size_t feature);
size_t getNumFeatures(const StageOptions &options);

/// The gains of bounds after decisions of each sort.
class DecisionHistory {
public:
  /// Starts a history for chunks with this mean number of layers.
  explicit DecisionHistory(double meanLayers) : meanLayers(meanLayers) {}

  /// Adds a gain, as a fraction of the desired bound.
  void add(const Decision &decision, bool isLayers, double gain);
  /// Returns the mean gain. Without data, chunks with more layers than most are
  /// expected to gain most.
  double getGain(const Decision &decision, bool isLayers) const;

private:
  struct Gains {
    double sum = 0;
    int64_t count = 0;
  };
  /// Stages are similar, so decisions are distinguished by feature, threshold
  /// and half only.
  using Sort = std::tuple<size_t, int64_t, bool>;
  static Sort getSort(const Decision &decision, bool isLayers);
  double meanLayers;
  std::map<Sort, Gains> gains;
};

/// Returns whether a feature is a number of layers.
bool isLayerFeature(const StageOptions &options, size_t feature);

/// Returns the decision in which the plans of a mixture differ most, measured
/// along its cut, and with which bounds have risen most. Returns nothing if
/// each stage has one option.
std::optional<Decision> chooseDecision(const OptionChain &chain,
                                       const MixtureResult &game,
                                       const DecisionHistory &history);

} // namespace mf::solver

#endif // MF_LIB_PLAN_SOLVER_BRANCHING_H
