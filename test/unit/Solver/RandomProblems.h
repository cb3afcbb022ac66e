//===- RandomProblems.h - Problems drawn at random ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_SOLVER_RANDOMPROBLEMS_H
#define MF_TEST_UNIT_SOLVER_RANDOMPROBLEMS_H

#include "mf/Plan/Solver/Problem.h"

/// A problem with at most `mostPlans` ways to deal and treat the layers, the
/// same for the same seed: up to 6 stages, 3 chunks on each, 3 kinds of layers,
/// 3 kinds of recompute and swap, tight and uneven limits (which may leave no
/// plan), and now and then every rule that there is. Weight gradients take the
/// same share of every forward, and messages no longer than any task.
mf::solver::Problem drawProblem(uint64_t seed, int64_t mostPlans);

#endif // MF_TEST_UNIT_SOLVER_RANDOMPROBLEMS_H
