//===- PlanTraining.cpp - mf-plan train.yaml ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "PlanTraining.h"
#include "Findings.h"
#include "InputText.h"
#include "LimitRange.h"
#include "PlanPage.h"
#include "TrainingReport.h"
#include "mf/Frontend/Config/MemorySize.h"
#include "mf/Plan/Settings/MemoryWays.h"
#include "tools/targets/TargetOptions.h"
#include "tools/terminal/ProgressLine.h"
#include "llvm/Support/WithColor.h"

using namespace mf::planner;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

namespace mf::tools {

static Expected<target::Target> readTarget(const PlanOptions &options) {
  Expected<target::Target> target = readTargetOption(options.target);
  if (!target)
    return target.takeError();
  if (Error error = applySetOptions(*target, options.set))
    return error;
  return target;
}

static KeptSettings getKept(const PlanOptions &options) {
  KeptSettings kept;
  for (const Setting setting : options.keep)
    switch (setting) {
    case Setting::Offset:
      kept.offset = true;
      break;
    case Setting::Recompute:
      kept.recompute = true;
      break;
    case Setting::SelectRecompute:
      kept.selectRecompute = true;
      break;
    case Setting::SelectCommRecompute:
      kept.selectCommRecompute = true;
      break;
    case Setting::Swap:
      kept.swap = true;
      break;
    }
  return kept;
}

/// Returns the limit of memory. With --frontier it is the highest limit: if no
/// plan fits into that, none fits into the others.
static Expected<std::optional<int64_t>> getLimit(const PlanOptions &options) {
  if (!options.hbm.empty())
    return parseMemorySize(options.hbm);
  if (options.frontier.empty())
    return std::optional<int64_t>();
  Expected<LimitRange> range = LimitRange::parse(options.frontier);
  if (!range)
    return range.takeError();
  return std::optional<int64_t>(static_cast<int64_t>(range->high));
}

Expected<PlanRequest> makeRequest(const PlanOptions &options) {
  PlanRequest request;
  request.input.fileName = nameInput(options.input).str();
  request.input.pretrainedConfig = options.pretrainedConfig;
  request.input.lowering = options.lowering.getOptions();
  Expected<std::string> yaml = readInput(options.input);
  if (!yaml)
    return yaml.takeError();
  if (!options.changes.empty())
    yaml = applyKeyChanges(*yaml, request.input.fileName, options.changes);
  if (!yaml)
    return yaml.takeError();
  request.yaml = std::move(*yaml);
  if (!options.model.empty()) {
    Expected<std::string> model = readInput(options.model);
    if (!model)
      return model.takeError();
    request.input.model = std::move(*model);
    request.input.modelName = nameInput(options.model).str();
  }
  Expected<target::Target> target = readTarget(options);
  if (!target)
    return target.takeError();
  request.target = std::move(*target);
  Expected<std::optional<int64_t>> limit = getLimit(options);
  if (!limit)
    return limit.takeError();
  request.limitBytes = *limit;
  request.keep = getKept(options);
  request.interleaves = {options.interleave.begin(), options.interleave.end()};
  request.microBatches = {options.microBatches.begin(),
                          options.microBatches.end()};
  request.schedules = {options.schedules.begin(), options.schedules.end()};
  request.recomputeTasks = options.recomputeTasks;
  request.expertLevels = options.expertLevels;
  request.mostCandidates = options.getCandidates(request.mostCandidates);
  return request;
}

/// Returns the time of a compiled step in addition to the tasks of the problem.
static double getRestSeconds(const PlanAnswer &found) {
  if (found.best.plan.chunks.empty())
    return std::max(0.0, found.boundSeconds - found.result.bound);
  return found.best.measure.seconds -
         solver::evaluate(found.problem, found.best.plan).time;
}

Expected<std::string> writeLimit(const PlanRequest &request, StringRef planned,
                                 int64_t limitBytes) {
  DiagnosticList ignored;
  const TrainingConfig config =
      parseTrainingConfig(planned, request.input.fileName, ignored);
  if (config.context.maxDeviceMemory == limitBytes)
    return planned.str();
  return applyKeyChanges(
      planned, request.input.fileName,
      {{"context.max_device_memory", writeMemorySize(limitBytes)}});
}

/// Warns about a limit that no process on the target has.
static void checkLimit(const PlanAnswer &found, const target::Target &target,
                       const solver::PlanUnits &units) {
  const int64_t most = target.memory.bytes;
  if (most == 0 || found.limitBytes <= most)
    return;
  llvm::WithColor::warning(llvm::errs(), "mf-plan")
      << "the limit of "
      << units.showMemory(static_cast<double>(found.limitBytes))
      << " is more than the " << units.showMemory(static_cast<double>(most))
      << " that a process has on '" << target.name
      << "'; --hbm sets a limit, --target names the device\n";
}

Error planTraining(const PlanOptions &options, const Interrupt &stop) {
  Expected<PlanRequest> request = makeRequest(options);
  if (!request)
    return request.takeError();
  request->stop = &stop.getFlag();
  Expected<PlanAnswer> found = [&] {
    ProgressLine line({});
    request->progress = [&](StringRef text) { line.showTimed(text); };
    return planStepWithWays(*request);
  }();
  if (!found)
    return found.takeError();
  Expected<std::string> limited =
      writeLimit(*request, found->best.yaml, found->limitBytes);
  if (!limited)
    return limited.takeError();
  found->best.yaml = std::move(*limited);
  const solver::PlanUnits units =
      getTrainingUnits(found->best.measure.seconds, found->limitBytes);
  checkLimit(*found, request->target, units);
  Findings findings(options, stop, units);
  findings.addProblem(found->problem);
  if (!options.frontier.empty()) {
    if (Error error =
            findings.addFrontier(found->problem, getRestSeconds(*found)))
      return error;
    return findings.write();
  }
  printTrainingPlan(request->yaml, *found, units, findings.getText());
  findings.getJson() = writeTrainingPlan(*found);
  if (!found->best.plan.chunks.empty())
    findings.addExplanation(found->problem, found->best.plan,
                            found->best.measure.seconds);
  if (found->isCutShort)
    findings.noteEarlyEnd();
  findings.addYaml(found->best.yaml);
  if (PlanOptions::isGiven(options.html)) {
    Expected<std::string> page =
        makePlanPage(*request, *found, units, getRestSeconds(*found), stop);
    if (!page)
      return page.takeError();
    findings.addPage(std::move(*page));
  }
  return findings.write();
}

} // namespace mf::tools
