//===- Enumeration.h - All plans of a problem -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_SOLVER_ENUMERATION_H
#define MF_TEST_UNIT_SOLVER_ENUMERATION_H

#include "mf/Plan/Solver/Problem.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <optional>

/// Passes on every way to deal the layers to chunks and to treat them, whether
/// it verifies or not, until `visit` returns false.
void enumeratePlans(const mf::solver::Problem &problem,
                    llvm::function_ref<bool(const mf::solver::Plan &)> visit);

/// The time of a step by the simulator of pipelines (mf/Perf/EventEngine).
double simulateStep(const mf::solver::Problem &problem,
                    const mf::solver::Plan &plan);

/// The least time of all plans that verify; nothing if there is none.
std::optional<double> findLeastTime(const mf::solver::Problem &problem);

#endif // MF_TEST_UNIT_SOLVER_ENUMERATION_H
