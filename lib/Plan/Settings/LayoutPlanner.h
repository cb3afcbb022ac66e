//===- LayoutPlanner.h - Plans one layout -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The knowledge about one layout, from bounds to a compiled plan. Costs of
// layers are learned once for all layouts whose layers are cut alike.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PLAN_SETTINGS_LAYOUTPLANNER_H
#define MF_LIB_PLAN_SETTINGS_LAYOUTPLANNER_H

#include "lib/Plan/Settings/LayoutFacts.h"
#include "lib/Plan/Settings/VariantSearch.h"
#include "mf/Plan/Settings/LayoutSearch.h"

namespace mf::planner {

/// The context that all layouts of a search share.
struct LayoutSetting {
  const PlanRequest &request;
  const LayoutFacts &facts;
  const std::vector<ModelLayer> &layers;
  int64_t limitBytes = 0;
  /// The depth of the smallest model whose last layer is of the kind of all
  /// further layers of the YAML's model; 0 if there is none.
  int64_t shallowDepth = 0;
};

/// Layouts whose layers are cut alike.
struct LayerClass {
  /// The time of the forwards and backwards of a pass, over all stages, without
  /// recompute; 0 if it is not known yet.
  double seconds = 0;
  /// True once two shallow models were compiled, or could not be.
  bool isSampled = false;
  /// The costs of layers of a layout that has learned them; null if there is
  /// none yet.
  const VariantCosts *learned = nullptr;
};

class LayoutPlanner {
public:
  /// `recomputeTasks` makes recompute a task of its own.
  LayoutPlanner(const LayoutSetting &setting, DeviceLayout layout,
                bool recomputeTasks, LayerClass &layerClass);

  const DeviceLayout &getLayout() const { return layout; }
  bool hasRecomputeTasks() const { return recomputeTasks; }
  /// Returns the key by which layouts with equal estimates are ordered.
  auto getOrder() const {
    return std::tuple_cat(layout.tie(), std::tie(recomputeTasks));
  }
  const LayerClass &getClass() const { return layerClass; }

  /// Returns what is known of the step's time in seconds: lower bounds at
  /// first, then an estimate from costs. `flops` are those of a step, 0 if they
  /// are not known.
  double getExpectedSeconds(double flops) const;
  /// Returns what getExpectedSeconds() follows from.
  Promise getPromise() const;
  /// Returns the step's time as estimated from costs; none if it is not known.
  std::optional<double> getEstimate() const { return estimate; }
  /// Returns whether the result of the next advance() is also valid for other
  /// layouts.
  bool teachesClass() const;

  /// Continues planning for at most the given seconds. The error is the reason
  /// why this layout is impossible.
  llvm::Error advance(double seconds);
  /// Returns whether planning is complete.
  bool isPlanned() const { return getBest() != nullptr; }
  /// Returns the fully compiled plan, or null if there is none.
  const CompiledPlan *getBest() const;
  const solver::Problem &getProblem() const {
    return variant->search.getProblem();
  }
  int64_t getCompiledSteps() const {
    return compiledSamples + (variant ? variant->costs.getCompiledSteps() : 0);
  }
  /// Returns the FLOPs of a step without recompute, of all ranks; 0 if it was
  /// not compiled.
  double getFlops() const { return untreated ? untreated->flops : 0; }

private:
  const LayoutSetting &setting;
  const DeviceLayout layout;
  const bool recomputeTasks;
  LayerClass &layerClass;
  /// The request with the YAML of the layout.
  PlanRequest request;
  PlanClock clock;
  std::unique_ptr<PlanVariant> variant;
  /// The measure of the step without recompute.
  std::optional<StepMeasure> untreated;
  std::optional<double> estimate;
  /// The steps of shallow models that were compiled.
  int64_t compiledSamples = 0;

  llvm::Error checkBytes() const;
  llvm::Error sampleClass();
  llvm::Expected<double> measureShallow(int64_t depth);
  llvm::Error prepare();
  llvm::Error measure();
  llvm::Error checkStatics() const;
  llvm::Error estimateStep();
};

} // namespace mf::planner

#endif // MF_LIB_PLAN_SETTINGS_LAYOUTPLANNER_H
