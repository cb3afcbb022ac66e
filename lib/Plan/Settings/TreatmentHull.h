//===- TreatmentHull.h - Treatments that are worth mixing -------*- C++ -*-===//

#ifndef MF_PLANNER_TREATMENTHULL_H
#define MF_PLANNER_TREATMENTHULL_H

#include "lib/Plan/Settings/Composition.h"
#include "mf/Plan/Solver/Problem.h"

namespace mf::planner {

/// Among treatments that keep `memory` and take `time`, returns the numbers of
/// those on the lower convex hull, from most memory to least. A mixture of the
/// others takes longer than one of two neighbours on the hull that keeps as
/// much.
std::vector<size_t> findHull(llvm::ArrayRef<double> memory,
                             llvm::ArrayRef<double> time);

/// Lets a chunk mix two neighbours of the hull, and swap with them, and nothing
/// else: of layers that are alike, more different treatments gain next to
/// nothing, and are more to read in a YAML. Nor do chunks have more than twice
/// the average of layers; where stages have several, one more or less.
void restrictMixtures(const PlanContext &context, plan::Problem &problem);

} // namespace mf::planner

#endif // MF_PLANNER_TREATMENTHULL_H
