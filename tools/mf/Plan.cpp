//===- Plan.cpp - mf plan -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Verb.h"
#include "tools/mf-plan/PlanCommand.h"
#include "llvm/Support/WithColor.h"

int mf::tools::runPlan(int argc, char **argv) {
  PlanOptions options;
  options.restrictToTraining(defaultTarget);
  options.parse(argc, argv);
  if (!PlanOptions::isGiven(options.target))
    llvm::WithColor::note() << "timed on the target " << defaultTarget
                            << ", the default; mf targets lists the others\n";
  return runPlanner(options);
}
