//===- WorkBound.h - A bound that needs no search ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PLAN_SOLVER_WORKBOUND_H
#define MF_LIB_PLAN_SOLVER_WORKBOUND_H

#include "Ticks.h"

namespace mf::solver {

/// Returns a lower bound in ticks on the time of all plans, whatever their
/// memory: stages share the least work that there is, and wait before their
/// first and after their last task.
double getWorkBound(const TickProblem &problem);

} // namespace mf::solver

#endif // MF_LIB_PLAN_SOLVER_WORKBOUND_H
