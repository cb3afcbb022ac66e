//===- PlanLayouts.cpp - mf-plan train.yaml --devices=64 ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "PlanLayouts.h"
#include "Findings.h"
#include "LayoutReport.h"
#include "PlanTraining.h"
#include "TrainingReport.h"
#include "tools/terminal/ProgressLine.h"
#include <cstdlib>

using namespace mf::planner;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

namespace mf::tools {

Error planLayouts(const PlanOptions &options, const Interrupt &stop) {
  // In a YAML of the dynamic graph the number of data-parallel ranks follows
  // from the environment's RANK_SIZE.
  setenv("RANK_SIZE", std::to_string(options.devices).c_str(),
         /*overwrite=*/1);
  Expected<PlanRequest> request = makeRequest(options);
  if (!request)
    return request.takeError();
  request->stop = &stop.getFlag();
  Expected<LayoutSearchResult> found = [&] {
    ProgressLine line({});
    request->progress = [&](StringRef text) { line.showTimed(text); };
    return searchLayouts(*request, options.devices);
  }();
  if (!found)
    return found.takeError();
  PlannedLayout &best = found->best.front();
  Expected<std::string> limited =
      writeLimit(*request, best.yaml, found->limitBytes);
  if (!limited)
    return limited.takeError();
  best.yaml = std::move(*limited);
  const solver::PlanUnits units =
      getTrainingUnits(best.measure.seconds, found->limitBytes);
  Findings findings(options, stop, units);
  findings.addProblem(best.problem);
  printLayouts(request->yaml, *found, units, findings.getText());
  findings.getJson() = writeLayouts(*found);
  findings.addExplanation(best.problem, best.plan, best.measure.seconds);
  if (!found->isComplete)
    findings.noteEarlyEnd();
  findings.addYaml(best.yaml);
  return findings.write();
}

} // namespace mf::tools
