//===- ProblemJson.h - Problems as files ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PLAN_SOLVER_PROBLEMJSON_H
#define MF_PLAN_SOLVER_PROBLEMJSON_H

#include "mf/Plan/Solver/Solver.h"
#include "llvm/Support/JSON.h"

namespace mf::solver {

/// Reads a problem in the format of docs/planning-problems.md. Errors state the
/// place in the file.
llvm::Expected<Problem> readProblem(llvm::StringRef json, llvm::StringRef name);

/// Writes a problem in the form that readProblem reads.
llvm::json::Value writeProblem(const Problem &problem);

/// Returns a result as JSON: layers and treatments by chunk row and stage,
/// times, peaks, bound and gap.
llvm::json::Value writeResult(const Problem &problem,
                              const SolveResult &result);

} // namespace mf::solver

#endif // MF_PLAN_SOLVER_PROBLEMJSON_H
