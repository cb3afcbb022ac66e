//===- FrontierPrint.h - Prints step time against memory --------*- C++ -*-===//

#ifndef MF_PLAN_FRONTIERPRINT_H
#define MF_PLAN_FRONTIERPRINT_H

#include "mf/Plan/Solver/PlanUnits.h"
#include "mf/Plan/Solver/Solver.h"
#include "llvm/Support/JSON.h"

namespace mf::plan {

/// A row for each limit: the step, how far it is from proven, the stage with
/// the least memory left, and how many layers are treated in which way.
void printFrontier(const Problem &problem, llvm::ArrayRef<FrontierPoint> points,
                   const PlanUnits &units, llvm::raw_ostream &os);

/// As ProblemJson.h writes results, with their limits; in the units of the
/// problem.
llvm::json::Array writeFrontier(const Problem &problem,
                                llvm::ArrayRef<FrontierPoint> points);

/// The step against the limit in characters, for a terminal; nothing if fewer
/// than two limits have a plan.
void plotFrontier(llvm::ArrayRef<FrontierPoint> points, const PlanUnits &units,
                  llvm::raw_ostream &os);

/// The same as an SVG, with the layers that are treated in each way below.
std::string drawFrontier(const Problem &problem,
                         llvm::ArrayRef<FrontierPoint> points,
                         const PlanUnits &units);

/// The number of layers of all chunks together that get each treatment.
std::vector<int64_t> countTreatments(const Problem &problem, const Plan &plan);

} // namespace mf::plan

#endif // MF_PLAN_FRONTIERPRINT_H
