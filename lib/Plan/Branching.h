//===- Branching.h - How a set of plans is cut in two ---------*- C++ -*-===//

#ifndef MF_LIB_PLAN_BRANCHING_H
#define MF_LIB_PLAN_BRANCHING_H

#include "PathGame.h"

namespace mf::plan {

/// Halves the options of a stage by a number that each has.
struct Decision {
  size_t stage = 0;
  /// See getFeature.
  size_t feature = 0;
  double threshold = 0;
  bool isAtMost = true;

  bool allows(const StageOptions &options, int32_t option) const;
};

/// Layers of the stage, then of its chunks, then of its chunks by kind, then
/// its durations, then the number of the option.
double getFeature(const StageOptions &options, int32_t option, size_t feature);
size_t getNumFeatures(const StageOptions &options);

/// The decision in which the plans of a mixture differ most, measured along its
/// cut; nothing if each stage has one option.
std::optional<Decision> chooseDecision(const OptionChain &chain,
                                       const GameResult &game);

} // namespace mf::plan

#endif // MF_LIB_PLAN_BRANCHING_H
