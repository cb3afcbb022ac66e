//===- MemoryWays.h - Ways to lower the memory of a step --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The search for the settings with which a step fits. A way is a key of the
// YAML with other values: the level of the optimizer, pieces of the loss, the
// size of micro-batches, recompute and others. Each value is compiled alone. If
// none is enough, values are combined, and planned (StepPlanner.h).
//
//===----------------------------------------------------------------------===//

#ifndef MF_PLAN_SETTINGS_MEMORYWAYS_H
#define MF_PLAN_SETTINGS_MEMORYWAYS_H

#include "mf/Plan/Settings/ChoiceCosts.h"
#include "mf/Plan/Settings/StepPlanner.h"

namespace mf::planner {

/// A key, and its other values. Values of several ways can be combined.
struct MemoryWay {
  std::string name;
  std::vector<MemoryChoice> values;
  /// True if the step then needs more devices.
  bool addsDevices = false;
};

/// Returns the ways of a YAML. Those that change the model itself are included
/// if `input` has no model or the one that the YAML describes.
llvm::Expected<std::vector<MemoryWay>> findWays(const CompilerInput &input,
                                                llvm::StringRef yaml);

/// A step with some ways taken.
struct WayStep {
  /// The chosen values.
  std::vector<MemoryChoice> taken;
  std::string yaml;
  /// Empty if the step does not compile.
  std::optional<StepMeasure> measure;

  /// Returns whether the model has to be imported again.
  bool changesModel() const;
  /// Returns the changes, separated by commas.
  std::string describe() const;
  bool fits(int64_t limitBytes) const {
    return measure && measure->fits(limitBytes);
  }
};

/// The result of a search.
struct WaySearchResult {
  int64_t limitBytes = 0;
  StepMeasure given;
  /// The steps with one value each. Those that fit come first; both are in the
  /// order of their seconds.
  std::vector<WayStep> alone;
  /// The shortest of those that fit. If none of them fits, the shortest step
  /// that was compiled and fits.
  std::optional<WayStep> best;
  /// A plan of recompute that is shorter than the best step, if that has one
  /// value.
  std::optional<WayStep> shorter;
  /// If nothing fits, the step that misses least.
  WayStep nearest;
  /// If nothing fits, steps on more devices; those that fit come first.
  std::vector<WayStep> larger;
  int64_t compiledSteps = 0;
  /// True if the caller ended the search.
  bool isCutShort = false;
};

/// Receives what a search has found by then, as if it were cut short.
using WayProgress = std::function<void(WaySearchResult)>;

/// Searches for the shortest step that fits, the smallest change first. Fails
/// if the YAML does not compile. `progress` is called after each part of the
/// search, from the thread that searches.
llvm::Expected<WaySearchResult> searchWays(const PlanRequest &request,
                                           const WayProgress &progress = {});

/// Plans a step. If it does not fit with any offset, recompute and swap, the
/// ways are taken that the step needs, and it is planned with them.
llvm::Expected<PlanAnswer> planStepWithWays(const PlanRequest &request);

} // namespace mf::planner

#endif // MF_PLAN_SETTINGS_MEMORYWAYS_H
