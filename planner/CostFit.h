//===- CostFit.h - Costs of layers from compiled steps ---------*- C++ -*-===//
//
// What a layer costs under each treatment is read off compiled steps: what
// chunks of different layers take and keep, as sums over their layers. Exact
// where chunks are what the model of Problem.h says; what is left is a
// correction of the stage.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PLANNER_COSTFIT_H
#define MF_PLANNER_COSTFIT_H

#include "mf/Plan/Problem.h"
#include "planner/StepMeasure.h"
#include "planner/Treatments.h"

namespace mf::planner {

/// A compiled step, and what it was compiled from.
struct Observation {
  Assignment assignment;
  StepMeasure measure;
};

/// The model that the observations are of.
struct PlanContext {
  schedule::Schedule schedule;
  std::vector<ModelLayer> layers;
  std::vector<LayerTreatment> treatments;
  int64_t limitBytes = 0;
};

/// The costs that explain the observations best; seconds and bytes.
plan::Problem fitCosts(const PlanContext &context,
                       llvm::ArrayRef<Observation> observations);

/// The assignment as a plan of that problem, and back.
plan::Plan toPlan(const PlanContext &context, const Assignment &assignment);
Assignment toAssignment(const PlanContext &context, const plan::Plan &plan);

} // namespace mf::planner

#endif // MF_PLANNER_COSTFIT_H
