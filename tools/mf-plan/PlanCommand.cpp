//===- PlanCommand.cpp - Plans what the options of mf-plan ask for --------===//
// SPDX-License-Identifier: Apache-2.0

#include "PlanCommand.h"
#include "Outputs.h"
#include "PlanLayouts.h"
#include "PlanProblem.h"
#include "PlanStrategies.h"
#include "PlanTraining.h"
#include "mf/Frontend/Config/DiagnosticError.h"
#include "mf/Plan/Solver/NoPlanError.h"
#include "tools/terminal/Interrupt.h"

using llvm::Error;

namespace mf::tools {

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
  const std::atomic<bool> &stop = catchInterrupt();
  if (!options.iopddl.empty())
    return planStrategies(options, stop);
  if (!options.problem.empty())
    return planProblem(options, stop);
  return PlanOptions::isGiven(options.devices) ? planLayouts(options, stop)
                                               : planTraining(options, stop);
}

int runPlanner(const PlanOptions &options) {
  Error error = run(options);
  if (!error)
    return Success;
  const ExitCode code = error.isA<solver::NoPlanError>() ? NoPlan : Failure;
  printError(std::move(error), llvm::errs());
  return code;
}

} // namespace mf::tools
