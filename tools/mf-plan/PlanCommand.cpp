//===- PlanCommand.cpp - Plans what the options of mf-plan ask for --------===//
// SPDX-License-Identifier: Apache-2.0

#include "PlanCommand.h"
#include "Findings.h"
#include "mf/Plan/Solver/Solver.h"
#include "mf/Support/Diagnostic.h"
#include "tools/terminal/Interrupt.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using llvm::Error;

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
