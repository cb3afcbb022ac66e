//===- PlanPage.h - A plan as a page ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_PLAN_PLANPAGE_H
#define MF_TOOLS_MF_PLAN_PLANPAGE_H

#include "mf/Plan/Settings/StepPlanner.h"
#include "mf/Plan/Solver/PlanUnits.h"
#include "tools/terminal/Interrupt.h"
#include "llvm/Support/Error.h"

namespace mf::tools {

/// Returns a self-contained HTML page. It shows given and planned settings,
/// stages, the treatment of each layer, the step's time for different limits
/// (solved for a few limits; `stop` ends that), why no stage is faster, and the
/// changes of the YAML. `rest` is the time of a step in addition to that of the
/// problem.
llvm::Expected<std::string> makePlanPage(const planner::PlanRequest &request,
                                         const planner::PlanAnswer &found,
                                         const solver::PlanUnits &units,
                                         double rest, const Interrupt &stop);

} // namespace mf::tools

#endif // MF_TOOLS_MF_PLAN_PLANPAGE_H
