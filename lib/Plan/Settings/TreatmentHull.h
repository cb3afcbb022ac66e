//===- TreatmentHull.h - Treatments that are worth mixing -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PLAN_SETTINGS_TREATMENTHULL_H
#define MF_LIB_PLAN_SETTINGS_TREATMENTHULL_H

#include "lib/Plan/Settings/Composition.h"
#include "mf/Plan/Solver/Problem.h"

namespace mf::planner {

/// Returns the indices of the treatments on the lower convex hull of `memory`
/// and `time`, in descending order of memory. A mixture of other treatments
/// takes longer than one of two neighbours on the hull that keeps as much.
std::vector<size_t> findHull(llvm::ArrayRef<double> memory,
                             llvm::ArrayRef<double> time);

/// Allows a chunk to mix only two neighbours of the hull, and swap with them.
/// For equal layers, additional treatments gain next to nothing and make a YAML
/// harder to read. Also limits a chunk to twice the average number of layers
/// or, if stages have several chunks, to one more or less than it.
void restrictMixtures(const PlanContext &context, solver::Problem &problem);

} // namespace mf::planner

#endif // MF_LIB_PLAN_SETTINGS_TREATMENTHULL_H
