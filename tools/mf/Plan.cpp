//===- Plan.cpp - mf plan -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StepInput.h"
#include "Verb.h"
#include "tools/mf-plan/PlanCommand.h"
#include "llvm/Support/WithColor.h"

using llvm::Expected;

namespace mf::tools {

int runPlan(int argc, char **argv) {
  PlanOptions options;
  options.restrictToTraining(defaultTarget);
  options.set.setDescription(setOfBoth);
  options.set.setValueStr("key=value");
  options.parse(argc, argv);
  Expected<std::vector<std::string>> changes =
      takeYamlChanges(options.set, options.target);
  if (!changes)
    return fail(changes.takeError());
  Expected<std::vector<KeyChange>> keys = parseChanges(*changes);
  if (!keys)
    return fail(keys.takeError());
  options.changes = std::move(*keys);
  if (!PlanOptions::isGiven(options.target))
    llvm::WithColor::note() << "timed on the target " << defaultTarget
                            << ", the default; mf targets lists the others\n";
  return runPlanner(options);
}

} // namespace mf::tools
