//===- PlanCommand.h - Plans what the options of mf-plan ask for -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_PLAN_PLANCOMMAND_H
#define MF_TOOLS_MF_PLAN_PLANCOMMAND_H

#include "PlanOptions.h"

namespace mf::tools {

/// Searches, prints and writes what is found, and prints errors. Returns the
/// exit code of the program.
int runPlanner(const PlanOptions &options);

} // namespace mf::tools

#endif // MF_TOOLS_MF_PLAN_PLANCOMMAND_H
