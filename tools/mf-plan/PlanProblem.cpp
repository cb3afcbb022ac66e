//===- PlanProblem.cpp - mf-plan --problem --------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Findings.h"
#include "PlanCommand.h"
#include "mf/Plan/Solver/PlanPrint.h"
#include "mf/Plan/Solver/ProblemJson.h"
#include "mf/Plan/Solver/Solver.h"
#include "tools/terminal/ProgressLine.h"

using namespace mf::solver;
using llvm::Error;
using llvm::Expected;

namespace mf::tools {

/// Solves a problem for a plan that fits.
static Expected<SolveResult> findPlan(const Problem &problem,
                                      const PlanOptions &options,
                                      const Interrupt &stop) {
  ProgressLine line({});
  auto show = [&](const SolveProgress &progress) { line.show(progress); };
  SolveOptions solving;
  solving.mostCandidates = options.getCandidates();
  solving.stop = &stop.getFlag();
  solving.progress = show;
  Expected<SolveResult> result = solve(problem, solving);
  if (!result)
    return llvm::make_error<NoPlanError>(nameInput(options.problem) + ": " +
                                         toString(result.takeError()));
  if (!result->plan)
    return llvm::make_error<NoPlanError>(
        nameInput(options.problem) + ": no plan was found before " +
        (stop.isSet() ? stop.describe()
                      : "the search ended; more --candidates may help"));
  return result;
}

Error planProblem(const PlanOptions &options, const Interrupt &stop) {
  Expected<std::string> text = readInput(options.problem);
  if (!text)
    return text.takeError();
  Expected<Problem> problem = readProblem(*text, nameInput(options.problem));
  if (!problem)
    return problem.takeError();
  Findings findings(options, stop, {});
  findings.addProblem(*problem);
  if (!options.frontier.empty()) {
    if (Error error = findings.addFrontier(*problem))
      return error;
    return findings.write();
  }
  Expected<SolveResult> result = findPlan(*problem, options, stop);
  if (!result)
    return result.takeError();
  printResult(*problem, *result, findings.getText());
  llvm::json::Value json = writeResult(*problem, *result);
  findings.getJson() = std::move(*json.getAsObject());
  findings.addExplanation(*problem, *result->plan, result->time);
  if (!result->isProven)
    findings.noteEarlyEnd();
  return findings.write();
}

} // namespace mf::tools
