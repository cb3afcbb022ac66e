//===- LayoutPlanner.h - Plans one layout -----------------------*- C++ -*-===//
//
// The knowledge about one layout, from bounds to a compiled plan. Costs of
// layers are learned once for all layouts whose layers are cut alike.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PLANNER_LAYOUTPLANNER_H
#define MF_PLANNER_LAYOUTPLANNER_H

#include "lib/Plan/Settings/LayoutFacts.h"
#include "lib/Plan/Settings/VariantPlanner.h"

namespace mf::planner {

/// The context that all layouts of a search share.
struct LayoutSetting {
  const PlanRequest &request;
  const LayoutFacts &facts;
  const std::vector<ModelLayer> &layers;
  int64_t limitBytes = 0;
};

/// Layouts whose layers are cut alike.
struct LayerClass {
  /// Forwards and backwards of a pass, over all stages, with nothing
  /// recomputed; 0 if no layout was compiled yet.
  double seconds = 0;
  /// Knows what layers cost; null if nobody does yet.
  const VariantPlanner *learned = nullptr;
};

class LayoutPlanner {
public:
  LayoutPlanner(const LayoutSetting &setting, DeviceLayout layout,
                LayerClass &layerClass);

  const DeviceLayout &getLayout() const { return layout; }
  const LayerClass &getClass() const { return layerClass; }

  /// No step of this layout is known to be shorter, in seconds: bounds at
  /// first, then what costs promise. `flops` are those of a step, 0 if they are
  /// not known.
  double getExpectedSeconds(double flops) const;
  /// The step's time that the costs promise; none if it is not known.
  std::optional<double> getEstimate() const { return estimate; }
  /// Whether the result of the next advance() is also about other layouts.
  bool teachesClass() const;

  /// Finds out more, within so many seconds. An error is why this layout cannot
  /// be.
  llvm::Error advance(double seconds);
  /// Whether there is nothing more to find out.
  bool isPlanned() const { return getBest() != nullptr; }
  /// The plan, compiled in full; null if it was not planned.
  const CompiledPlan *getBest() const;
  const plan::Problem &getProblem() const { return variant->getProblem(); }
  int64_t getCompiledSteps() const {
    return variant ? variant->getCompiledSteps() : 0;
  }
  /// FLOPs of a step with nothing recomputed, of all ranks; 0 if not compiled.
  double getFlops() const { return untreated ? untreated->flops : 0; }

private:
  const LayoutSetting &setting;
  const DeviceLayout layout;
  LayerClass &layerClass;
  /// The request with the YAML of the layout.
  PlanRequest request;
  PlanClock clock;
  std::unique_ptr<VariantPlanner> variant;
  /// The step with nothing recomputed.
  std::optional<StepMeasure> untreated;
  std::optional<double> estimate;

  llvm::Error prepare();
  llvm::Error measure();
  llvm::Error checkStatics() const;
  llvm::Error estimateStep();
};

} // namespace mf::planner

#endif // MF_PLANNER_LAYOUTPLANNER_H
