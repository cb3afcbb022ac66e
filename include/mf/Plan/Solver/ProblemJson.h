//===- ProblemJson.h - Problems as files ----------------------*- C++ -*-===//

#ifndef MF_PLAN_PROBLEMJSON_H
#define MF_PLAN_PROBLEMJSON_H

#include "mf/Plan/Solver/PlanUnits.h"
#include "mf/Plan/Solver/Solver.h"
#include "llvm/Support/JSON.h"

namespace mf::plan {

/// Reads a problem (docs/planning-problems.md has the format). Errors say the
/// place in the file.
llvm::Expected<Problem> readProblem(llvm::StringRef json, llvm::StringRef name);

/// Writes a problem in the form that readProblem reads.
llvm::json::Value writeProblem(const Problem &problem);

/// Layers and treatments by chunk row and stage, times, peaks, bound, gap.
llvm::json::Value writeResult(const Problem &problem,
                              const SolveResult &result);

/// The same as text: a table with a row per stage, the step, bound and gap, and
/// the critical path in words.
void printResult(const Problem &problem, const SolveResult &result,
                 llvm::raw_ostream &os, const PlanUnits &units = {});

/// The table of printResult: a row per stage, with its layers, how they are
/// treated, and what `evaluation` says of its memory and time.
void printPlanTable(const Problem &problem, const Plan &plan,
                    const Evaluation &evaluation, const PlanUnits &units,
                    llvm::raw_ostream &os);

} // namespace mf::plan

#endif // MF_PLAN_PROBLEMJSON_H
