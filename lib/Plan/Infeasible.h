//===- Infeasible.h - Why no plan fits ------------------------*- C++ -*-===//

#ifndef MF_LIB_PLAN_INFEASIBLE_H
#define MF_LIB_PLAN_INFEASIBLE_H

#include "Ticks.h"

namespace mf::plan {

/// Of a problem that no plan solves: the stage that misses most memory if the
/// layers are dealt and treated such that this is least, or which rule leaves
/// no plan.
llvm::Error explainInfeasible(const TickProblem &problem);

} // namespace mf::plan

#endif // MF_LIB_PLAN_INFEASIBLE_H
