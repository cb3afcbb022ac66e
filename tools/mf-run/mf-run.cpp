//===- mf-run.cpp - Executes training steps -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// `mf-run step.mlir --steps 20 --data FILE` trains: it decodes the output of
// mf-opt, proves that it has no races, and runs every rank as a thread with its
// own emulated device. Under mpirun the ranks are distributed over the
// processes. A model that is not lowered is interpreted.
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "RunCommand.h"
#include "tools/main/ToolMains.h"
#include "llvm/Support/InitLLVM.h"

int mf::tools::mfRunMain(int argc, char **argv) {
  llvm::InitLLVM initLlvm(argc, argv);
  mf::tools::removeConflictingOptions();
  mf::tools::Options options;
  options.parse(argc, argv);
  return mf::tools::runSteps(options, argv[0]);
}
