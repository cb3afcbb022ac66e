//===- mf-plan.cpp - Plans offset, recompute and swap ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// `mf-plan train.yaml --target=atlas-800t-a2 -o planned.yaml` finds the memory
// settings that minimise the time of a training step and with which it fits.
// `mf-plan --problem=FILE` solves such a problem without a model.
//
//===----------------------------------------------------------------------===//

#include "Outputs.h"
#include "PlanLayouts.h"
#include "PlanOptions.h"
#include "PlanProblem.h"
#include "PlanStrategies.h"
#include "PlanTraining.h"
#include "mf/Plan/Solver/NoPlanError.h"
#include "tools/terminal/Interrupt.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"

using namespace mf::tools;
using llvm::Error;

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

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  PlanOptions options;
  options.parse(argc, argv);
  Error error = run(options);
  if (!error)
    return Success;
  const ExitCode code = error.isA<mf::solver::NoPlanError>() ? NoPlan : Failure;
  llvm::WithColor::error() << llvm::toString(std::move(error)) << "\n";
  return code;
}
