//===- simulate.cpp - Lowers and times a training YAML --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//   simulate train.yaml atlas-800t-a2
//
//===----------------------------------------------------------------------===//

#include "mf/Decode/TargetFile.h"
#include "mf/Perf/Simulator/StepSimulator.h"
#include "mf/Plan/Settings/StepCompiler.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using llvm::Error;

static Error run(llvm::StringRef file, llvm::StringRef targetName) {
  auto yaml = llvm::MemoryBuffer::getFile(file);
  if (!yaml)
    return llvm::createFileError(file, yaml.getError());

  mf::planner::CompilerInput input;
  input.fileName = file.str();
  llvm::Expected<mf::planner::CompiledStep> step = mf::planner::compileStep(
      input, (*yaml)->getBuffer(), mf::planner::PlanEffort::Full);
  if (!step)
    return step.takeError();
  for (const mf::program::StageProgram &stage : step->program.stages)
    llvm::outs() << "arena of " << stage.arenaBytes << " bytes\n";

  // The context prints what is wrong with a target.
  mlir::MLIRContext context;
  mlir::FailureOr<mf::target::Target> target =
      mf::target::readTarget(targetName, context);
  if (failed(target))
    return llvm::createStringError("no target");
  llvm::Expected<mf::timeline::StepTimeline> timeline =
      mf::simulator::simulate(step->program, *target);
  if (!timeline)
    return timeline.takeError();
  llvm::outs() << llvm::format("%.6f s per step\n", timeline->seconds);
  return Error::success();
}

int main(int argc, char **argv) {
  if (argc != 3) {
    llvm::errs() << "usage: simulate train.yaml TARGET\n";
    return 1;
  }
  if (Error error = run(argv[1], argv[2])) {
    llvm::errs() << "error: " << toString(std::move(error)) << "\n";
    return 1;
  }
  return 0;
}
