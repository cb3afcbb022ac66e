//===- PlanCommand.cpp - Plans what the options of mf-plan ask for --------===//
// SPDX-License-Identifier: Apache-2.0

#include "PlanCommand.h"
#include "Findings.h"
#include "mf/Plan/Solver/PlanPrint.h"
#include "mf/Plan/Solver/ProblemJson.h"
#include "mf/Plan/Solver/Solver.h"
#include "mf/Support/Diagnostic.h"
#include "tools/terminal/SearchTerminal.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mf::solver;
using llvm::Error;
using llvm::Expected;

namespace mf::tools {

llvm::Expected<std::string> readInput(llvm::StringRef path) {
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/true);
  if (!file)
    return llvm::createStringError("cannot read '" + path +
                                   "': " + file.getError().message());
  return (*file)->getBuffer().str();
}

llvm::StringRef nameInput(llvm::StringRef path) {
  return path == "-" ? "<stdin>" : path;
}

//===----------------------------------------------------------------------===//
// --problem
//===----------------------------------------------------------------------===//

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

/// Reads the abstract problem of --problem, solves it, and prints and writes
/// the requested outputs. The search ends early when `stop` is set.
static Error planProblem(const PlanOptions &options, const Interrupt &stop) {
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

//===----------------------------------------------------------------------===//
// All of mf-plan
//===----------------------------------------------------------------------===//

namespace {

/// The exit codes of the tool.
enum ExitCode { Success = 0, Failure = 1, NoPlan = 2 };

} // namespace

static Error run(const PlanOptions &options) {
  if (Error error = options.check())
    return error;
  if (Error error =
          checkOutputPaths({options.output, options.json, options.html,
                            options.plot, options.problemOut}))
    return error;
  const Interrupt stop(options.getTimeLimit());
  if (!options.problem.empty())
    return planProblem(options, stop);
  return PlanOptions::isGiven(options.devices) ? planLayouts(options, stop)
                                               : planTraining(options, stop);
}

/// Writes as JSON that there is no plan, and why.
static Error writeReason(const PlanOptions &options, llvm::StringRef reason) {
  if (!PlanOptions::isGiven(options.json))
    return Error::success();
  const llvm::json::Value json =
      llvm::json::Object{{"planned", nullptr}, {"reason", reason}};
  Outputs outputs;
  outputs.add(options.printsJson() ? "-" : llvm::StringRef(options.json),
              llvm::formatv("{0:2}\n", json));
  return outputs.write();
}

int runPlanner(const PlanOptions &options) {
  Error error = run(options);
  if (!error)
    return Success;
  if (!error.isA<solver::NoPlanError>()) {
    printError(std::move(error), llvm::errs());
    return Failure;
  }
  const std::string reason = llvm::toString(std::move(error));
  printError(llvm::createStringError(reason), llvm::errs());
  if (Error failed = writeReason(options, reason)) {
    printError(std::move(failed), llvm::errs());
    return Failure;
  }
  return NoPlan;
}

} // namespace mf::tools
