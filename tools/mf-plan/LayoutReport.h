//===- LayoutReport.h - Report of mf-plan on layouts ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_PLAN_LAYOUTREPORT_H
#define MF_TOOLS_MF_PLAN_LAYOUTREPORT_H

#include "mf/Plan/Settings/LayoutSearch.h"
#include "mf/Plan/Solver/PlanUnits.h"
#include "llvm/Support/JSON.h"

namespace mf::tools {

/// Prints the best layouts, the given one, why others are not possible, and the
/// settings of the best one. There must be at least one.
void printLayouts(llvm::StringRef yaml,
                  const planner::LayoutSearchResult &found,
                  const solver::PlanUnits &units, llvm::raw_ostream &os);

/// Returns the same information and more as JSON, in seconds and bytes.
llvm::json::Object writeLayouts(const planner::LayoutSearchResult &found);

} // namespace mf::tools

#endif // MF_TOOLS_MF_PLAN_LAYOUTREPORT_H
