//===- PlanTesting.h - Small problems for tests ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_SOLVER_PLANTESTING_H
#define MF_TEST_UNIT_SOLVER_PLANTESTING_H

#include "mf/Plan/Solver/Problem.h"
#include "llvm/ADT/Twine.h"
#include <string>

/// Two stages with one chunk each, two micro-batches, 1F1B; one dense layer and
/// three expert layers, which may be recomputed; 100 of memory on each stage.
mf::solver::Problem makeSmallProblem();

/// The dense layer and an expert on stage 0, two experts on stage 1, of which
/// one is recomputed.
mf::solver::Plan makeSmallPlan();

mf::schedule::Schedule makeSchedule(const std::string &name, int64_t stages,
                                    int64_t chunksPerStage,
                                    int64_t microBatches, int64_t pieces = 1);

/// The text of a file below test/data.
std::string readData(const llvm::Twine &path);

/// A published problem of test/data/plan.
mf::solver::Problem readPublished(const char *name);

/// The message; empty if there is no error.
std::string getMessage(llvm::Error error);

#endif // MF_TEST_UNIT_SOLVER_PLANTESTING_H
