//===- mf-plan.cpp - Plans offset, recompute and swap ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// `mf-plan train.yaml --target=atlas-800t-a2 -o planned.yaml` finds the memory
// settings that minimise the time of a training step and with which it fits.
// `mf-plan --problem=FILE` solves such a problem without a model.
//
//===----------------------------------------------------------------------===//

#include "PlanCommand.h"
#include "tools/main/ToolMains.h"
#include "llvm/Support/InitLLVM.h"

int mf::tools::mfPlanMain(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  mf::tools::PlanOptions options;
  options.parse(argc, argv);
  return mf::tools::runPlanner(options);
}
