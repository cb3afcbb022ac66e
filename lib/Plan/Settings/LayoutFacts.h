//===- LayoutFacts.h - Bounds of layouts before compiling -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The facts about all layouts from the YAML, its model and the target: which
// ones are legal, the least memory that parameters need, and the least time
// that the work takes.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PLAN_SETTINGS_LAYOUTFACTS_H
#define MF_LIB_PLAN_SETTINGS_LAYOUTFACTS_H

#include "mf/Plan/Settings/Layout.h"
#include "mf/Plan/Settings/StepPlanner.h"

namespace mf::planner {

struct LayoutFacts {
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
llvm::Expected<LayoutFacts> readLayoutFacts(const PlanRequest &request,
                                            int64_t devices);

} // namespace mf::planner

#endif // MF_LIB_PLAN_SETTINGS_LAYOUTFACTS_H
