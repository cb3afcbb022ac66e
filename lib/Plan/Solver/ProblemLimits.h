//===- ProblemLimits.h - The largest problems that are accepted -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PLAN_SOLVER_PROBLEMLIMITS_H
#define MF_LIB_PLAN_SOLVER_PROBLEMLIMITS_H

#include <cstdint>

namespace mf::solver {

/// The largest number of layers in a model; a larger one is most likely a
/// mistake.
constexpr int64_t mostLayers = 1 << 12;

} // namespace mf::solver

#endif // MF_LIB_PLAN_SOLVER_PROBLEMLIMITS_H
