//===- LayoutSearch.h - Search for the best layouts -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Finds the layouts of ranks with the shortest training step at the same global
// batch, each with the memory settings that suit it (StepPlanner.h). Layouts
// are ordered by their best estimate so far: first bounds, then times from
// learned costs, then compiled plans. A layout whose bound or estimate is some
// per cent above the best plan is not compiled.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PLAN_SETTINGS_LAYOUTSEARCH_H
#define MF_PLAN_SETTINGS_LAYOUTSEARCH_H

#include "mf/Plan/Settings/Layout.h"
#include "mf/Plan/Settings/StepPlanner.h"

namespace mf::planner {

/// The number of layouts to report.
inline constexpr size_t numBestLayouts = 10;

/// A layout with its best memory settings.
struct PlannedLayout {
  DeviceLayout layout;
  /// True if recompute is a separate task, for which mf-opt has an option.
  bool recomputeTasks = false;
  /// All settings that were written into the user's YAML.
  MemorySettings settings;
  std::string yaml;
  /// The measure of the step as mf-opt compiles it. It fits.
  StepMeasure measure;
  solver::Problem problem;
  solver::Plan plan;

  /// Returns true if layers are recomputed or swapped, so that more memory
  /// would make the step shorter.
  bool isLimitedByMemory() const;
  /// Returns the stage with the largest peak.
  size_t getFullestStage() const;
};

/// The YAML's own layout, if it has the requested number of devices.
struct GivenLayout {
  DeviceLayout layout;
  /// The measure with the YAML's own settings.
  StepMeasure measure;
  bool fits = false;
  /// The layout with its best settings. Empty if none fit or the search was
  /// stopped before.
  std::optional<PlannedLayout> planned;
  /// The rank among all layouts, counted from 1; 0 if the layout was not
  /// planned. If `isRankLeast` is true, the true rank may be higher, because
  /// some layouts that are counted as longer may be shorter.
  size_t rank = 0;
  bool isRankLeast = false;
};

/// What a time follows from that a layout is expected to take.
enum class Promise : uint8_t {
  /// A lower bound: the floating-point operations at the cube's peak.
  Flops,
  /// A lower bound: the time of layers that are cut alike, without recompute.
  Layers,
  /// A bound by the costs of layers in shallow models, within the memory.
  Shallow,
  /// An estimate by the learned costs of layers.
  Costs
};

/// A layout that was not planned because it promises less than the best plan.
struct OutpacedLayout {
  DeviceLayout layout;
  bool recomputeTasks = false;
  double seconds = 0;
  Promise promise = Promise::Flops;
};

/// Layouts that are impossible for the same reason.
struct SkippedLayouts {
  std::string reason;
  std::vector<DeviceLayout> layouts;
};

/// The layouts that a search has found.
struct LayoutSearchResult {
  int64_t limitBytes = 0;
  int64_t samples = 0;
  /// At most numBestLayouts layouts, the shortest step first.
  std::vector<PlannedLayout> best;
  std::optional<GivenLayout> given;
  std::vector<SkippedLayouts> skipped;
  /// Those that were not planned, the most promising first.
  std::vector<OutpacedLayout> outpaced;
  /// The number of legal layouts, and of those with a plan.
  size_t numLegal = 0, numPlanned = 0;
  int64_t compiledSteps = 0;
  /// True unless the caller ended the search.
  bool isComplete = false;
};

/// Searches for layouts. All fields of `request` are used, except the variants
/// of pipelines other than recompute tasks. Fails if the YAML does not compile
/// or if no layout of that many devices is legal, and with a NoPlanError if no
/// layout fits or none was found before the caller ended the search.
llvm::Expected<LayoutSearchResult> searchLayouts(const PlanRequest &request,
                                                 int64_t devices);

} // namespace mf::planner

#endif // MF_PLAN_SETTINGS_LAYOUTSEARCH_H
