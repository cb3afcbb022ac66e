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

#include "lib/Plan/Settings/VariantSearch.h"
#include "mf/Plan/Settings/Layout.h"
#include "mf/Plan/Settings/LayoutSearch.h"
#include "mf/Plan/Settings/StepPlanner.h"

namespace mf::planner {

struct LayoutBounds {
  LayoutRules rules;
  /// The layout of the YAML, for whatever number of devices it is.
  DeviceLayout given;
  /// Chunks per stage.
  int64_t interleave = 1;
  /// The number of trained parameters, and the bytes of each of them and of its
  /// optimizer state.
  int64_t parameters = 0;
  int64_t parameterBytes = 2;
  /// Those of `parameters` that expert-parallel ranks share out.
  int64_t routedParameters = 0;
  int64_t stateBytes = 0;
  /// The bytes of each parameter that are held through a step of several
  /// passes: the sum of its gradients, and the gathered parameter if the
  /// optimizer is sharded.
  int64_t gradientBytes = 0, gatheredBytes = 0;
  /// True if the sums of gradients are sharded like the optimizer.
  bool shardsGradients = false;
  /// True if, on one stage, each pass scatters gradients and drops gathered
  /// parameters.
  bool sharesByMicroBatch = false;
  /// The peak of a device's cube.
  double peakFlopsPerSecond = 0;
  /// True if a stage does nothing else while the pipeline fills and drains:
  /// its schedule has no tasks that could be moved there.
  bool waitsWhileFilling = true;
  /// The key of the number of layers, as model.model_config.num_layers; empty
  /// if the YAML does not have it. Its value leaves out the layers of
  /// multi-token prediction.
  std::string depthPath;
  int64_t depth = 0;

  /// Returns a lower bound on the memory of the fullest stage: the memory of
  /// all stages, divided by their number.
  double getLeastBytes(const DeviceLayout &layout) const;
  /// Returns a lower bound on the time of a step, given the floating-point
  /// operations of all ranks.
  double getLeastSeconds(const DeviceLayout &layout, double flops) const;
  /// Returns a lower bound on the time of a step, however layers are
  /// distributed over stages. `seconds` is the time of a pass, summed over the
  /// stages.
  double getLeastStepSeconds(const DeviceLayout &layout, double seconds) const;
};

/// Reads the YAML of a request for `devices` devices. It is an error if the
/// YAML is not for several devices, or if its model or its ranks are
/// impossible.
llvm::Expected<LayoutBounds> readLayoutBounds(const PlanRequest &request,
                                              int64_t devices);

/// The context that all layouts of a search share.
struct LayoutSetting {
  const PlanRequest &request;
  const LayoutBounds &bounds;
  const std::vector<ModelLayer> &layers;
  int64_t limitBytes = 0;
  /// The depth of the smallest model whose last layer is of the kind of all
  /// further layers of the YAML's model; 0 if there is none.
  int64_t shallowDepth = 0;
};

/// The least time of a pass of layouts whose layers are cut alike, and whose
/// optimizers are sharded or are not: a pass gathers sharded parameters.
struct PassTime {
  /// The layout with the fewest replicas, among which gathering is fastest.
  DeviceLayout least;
  /// The time of the forwards and backwards of a pass, over all stages, without
  /// recompute; 0 if it is not known yet.
  double seconds = 0;
  /// The replicas of the layout that has shown it. It bounds layouts with as
  /// many or more.
  int64_t replicas = 1;
  /// True once two shallow models were compiled, or could not be.
  bool isSampled = false;
};

/// Layouts whose layers are cut alike.
struct LayerClass {
  /// By whether the optimizer is sharded.
  std::array<PassTime, 2> times;
  /// The costs of layers of a layout that has learned them; null if there is
  /// none yet.
  const VariantCosts *learned = nullptr;
};

/// What each further layer of a model adds to.
struct ShallowMeasure {
  /// The time of the forwards and backwards of a pass, over all stages.
  double seconds = 0;
  /// The bytes that live through the step, over all stages.
  double staticBytes = 0;
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
  /// first, then a bound and an estimate from costs. `flops` are those of a
  /// step, 0 if they are not known.
  double getExpectedSeconds(double flops) const;
  /// Returns what getExpectedSeconds() follows from.
  Promise getPromise() const;
  /// Returns the step's time as estimated from costs; none if it is not known.
  std::optional<double> getEstimate() const { return estimate; }
  /// Returns whether the time follows from costs of layers.
  bool isCosted() const { return estimate || foreseen > 0; }
  /// Returns whether the result of the next advance() is also valid for other
  /// layouts.
  bool teachesClass() const;

  /// Returns an error if parameters, gradients and states do not fit by their
  /// number alone.
  llvm::Error checkBytes() const;
  /// Continues planning. A step of `cutoff` seconds or more is of no interest;
  /// 0 if all are. The error is the reason why this layout is impossible.
  llvm::Error advance(double cutoff);
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
  PassTime &passTime;
  /// The request with the YAML of the layout.
  PlanRequest request;
  std::unique_ptr<PlanVariant> variant;
  /// True once shallow models of this layout were compiled, or could not be.
  bool isForeseen = false;
  /// The least time by costs from shallow models; 0 if it is not known.
  double foreseen = 0;
  /// The measure of the step without recompute.
  std::optional<StepMeasure> untreated;
  std::optional<double> estimate;
  /// The steps of shallow models that were compiled.
  int64_t compiledSamples = 0;

  bool hasShallow() const;
  llvm::Expected<std::string> makeShallow(DeviceLayout of, int64_t depth) const;
  llvm::Expected<ShallowMeasure> measureShallow(const DeviceLayout &of,
                                                int64_t depth);
  std::optional<ShallowMeasure> extendShallow(const DeviceLayout &of);
  void setPassTime(double seconds, const DeviceLayout &of) {
    passTime.seconds = seconds;
    passTime.replicas = of.getReplicas();
  }
  void samplePass();
  llvm::Error checkShallow();
  llvm::Expected<std::unique_ptr<VariantCosts>> learnShallow();
  llvm::Error foresee(double cutoff);
  llvm::Error prepare();
  llvm::Error measure();
  llvm::Error checkStatics(double bytes) const;
  bool hasPassTime() const {
    return passTime.seconds > 0 && passTime.replicas <= layout.getReplicas();
  }
  double getPassSeconds() const {
    return setting.bounds.getLeastStepSeconds(layout, passTime.seconds);
  }
  llvm::Error estimateStep();
};

} // namespace mf::planner

#endif // MF_LIB_PLAN_SETTINGS_LAYOUTPLANNER_H
