//===- LayoutFacts.h - Bounds of layouts before compiling -------*- C++ -*-===//
//
// The facts about all layouts from the YAML, its model and the target: which
// ones are legal, the least memory that parameters need, and the least time
// that the work takes.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PLANNER_LAYOUTFACTS_H
#define MF_PLANNER_LAYOUTFACTS_H

#include "mf/Plan/Settings/Layout.h"
#include "mf/Plan/Settings/StepPlanner.h"

namespace mf::planner {

struct LayoutFacts {
  LayoutRules rules;
  /// The layout of the YAML, whatever number of devices it has.
  DeviceLayout given;
  /// Chunks per stage.
  int64_t interleave = 1;
  /// Trained parameters, and bytes of each of them and of its optimizer state.
  int64_t parameters = 0;
  int64_t parameterBytes = 2;
  int64_t stateBytes = 0;
  /// Bytes of each parameter that stay through a step of several passes: its
  /// gradient's sum, and the gathered parameter where the optimizer is sharded.
  int64_t gradientBytes = 0, gatheredBytes = 0;
  /// Sums of gradients are sharded as the optimizer is.
  bool shardsGradients = false;
  /// The peak of a device's cube.
  double peakFlopsPerSecond = 0;

  /// The fullest stage has no less than that: its own part of what all stages
  /// have.
  double getLeastBytes(const DeviceLayout &layout) const;
  /// A step takes no less, of so many floating-point operations of all ranks.
  double getLeastSeconds(const DeviceLayout &layout, double flops) const;
  /// The step whose stages all work for `seconds` in each pass, summed over the
  /// stages: fill and drain, and no waiting besides.
  double getEvenSeconds(const DeviceLayout &layout, double seconds) const;
};

/// Reads the YAML of a request for `devices` devices. It is an error if the
/// YAML is not for several devices, or if its model or its ranks are
/// impossible.
llvm::Expected<LayoutFacts> readLayoutFacts(const PlanRequest &request,
                                            int64_t devices);

} // namespace mf::planner

#endif // MF_PLANNER_LAYOUTFACTS_H
