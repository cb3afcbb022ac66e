//===- LayoutSearch.h - Search for the best layouts -------------*- C++ -*-===//
//
// Finds the layouts of ranks with which a training step is shortest, each with
// the memory settings that suit it (StepPlanner.h), at the same global batch.
// Layouts are ordered by the best estimate so far: first bounds, then times
// from learned costs, then compiled plans; those that promise less than the
// tenth best plan are not compiled.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PLANNER_LAYOUTSEARCH_H
#define MF_PLANNER_LAYOUTSEARCH_H

#include "mf/Plan/Settings/Layout.h"
#include "mf/Plan/Settings/StepPlanner.h"

namespace mf::planner {

/// The number of layouts to report.
inline constexpr size_t numBestLayouts = 10;

/// A layout with its best memory settings.
struct PlannedLayout {
  DeviceLayout layout;
  /// All that was written into the user's YAML.
  MemorySettings settings;
  std::string yaml;
  /// Compiled as mf-opt does; fits.
  StepMeasure measure;
  plan::Problem problem;
  plan::Plan plan;

  /// Layers are recomputed or swapped: more memory would help.
  bool isLimitedByMemory() const;
  /// The stage with the largest peak.
  size_t getFullestStage() const;
};

/// The YAML's own layout, if it is for as many devices.
struct GivenLayout {
  DeviceLayout layout;
  /// With the YAML's own settings.
  StepMeasure measure;
  bool fits = false;
  /// With the best settings; nothing if none fit, or time ended.
  std::optional<PlannedLayout> planned;
  /// Among all layouts, from 1 on; some that are counted as longer may be
  /// shorter if `isRankLeast`. 0 if it was not planned.
  size_t rank = 0;
  bool isRankLeast = false;
};

/// Layouts that cannot be, for one reason.
struct SkippedLayouts {
  std::string reason;
  std::vector<DeviceLayout> layouts;
};

struct LayoutSearchResult {
  int64_t limitBytes = 0;
  int64_t samples = 0;
  /// At most numBestLayouts, the shortest step first.
  std::vector<PlannedLayout> best;
  std::optional<GivenLayout> given;
  std::vector<SkippedLayouts> skipped;
  /// Legal layouts, those with a plan, and those that promise too little.
  size_t numLegal = 0, numPlanned = 0, numOutpaced = 0;
  int64_t compiledSteps = 0;
  /// Neither time nor the user ended the search.
  bool isComplete = false;
};

/// Uses all of `request` but the variants of pipelines. Errors: the YAML does
/// not compile, no layout of so many devices is legal, or a NoPlanError if none
/// fits or none was found in time.
llvm::Expected<LayoutSearchResult> searchLayouts(const PlanRequest &request,
                                                 int64_t devices);

} // namespace mf::planner

#endif // MF_PLANNER_LAYOUTSEARCH_H
