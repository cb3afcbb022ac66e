//===- PlanTraining.cpp - mf-plan train.yaml ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Findings.h"
#include "PlanCommand.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "mf/Frontend/Config/KnownKeys.h"
#include "mf/Frontend/Config/MemorySize.h"
#include "mf/Frontend/Config/ModelKeys.h"
#include "mf/Layers/LayerSettings.h"
#include "mf/Perf/Timeline/HtmlPage.h"
#include "mf/Plan/Settings/MemoryWays.h"
#include "mf/Plan/Settings/StepPlanner.h"
#include "mf/Plan/Solver/PlanPrint.h"
#include "tools/targets/TargetOptions.h"
#include "tools/terminal/SearchTerminal.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/WithColor.h"

using namespace mf::planner;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;
using llvm::StringLiteral;
using llvm::StringRef;
using llvm::json::Array;
using llvm::json::Object;

namespace mf::tools {

//===----------------------------------------------------------------------===//
// A plan as a page
//===----------------------------------------------------------------------===//

static constexpr StringLiteral planStyles[] = {"page.css", "plan.css"};
static constexpr StringLiteral planScripts[] = {"format.js",   "drawing.js",
                                                "diff.js",     "treatments.js",
                                                "frontier.js", "plan.js"};

/// The lowest and the highest limit of the curve, in tenths of the plan's
/// limit.
static constexpr int lowestTenth = 6, highestTenth = 14;
/// The time for solving all points of the curve, in seconds.
static constexpr int64_t curveCandidates = 50'000;

static std::string describePlan(const PlanRequest &request,
                                const PlanAnswer &found,
                                const solver::PlanUnits &units) {
  std::string text = "planned";
  if (!request.target.name.empty())
    text += " for " + request.target.name;
  text += ", " + units.showMemory(static_cast<double>(found.limitBytes)) +
          " per device";
  if (found.problem.kinds.empty())
    return text;
  const schedule::Pipeline &pipeline = found.problem.schedule.pipeline;
  return text + formatv(" · {0} layers · {1} stages · {2} micro-batches · "
                        "schedule {3} · {4} steps compiled",
                        found.problem.getNumLayers(), pipeline.stages,
                        pipeline.microBatches, found.problem.schedule.name,
                        found.compiledSteps)
                    .str();
}

static std::string describeBound(const PlanAnswer &found,
                                 const solver::PlanUnits &units) {
  std::string text;
  if (found.boundSeconds > 0)
    text = formatv("By the costs of layers no plan is shorter than {0}; this "
                   "one takes {1}.",
                   units.showTime(found.boundSeconds),
                   units.showTime(found.best.measure.seconds));
  if (found.isGiven)
    text += " No settings that were found make the given step shorter.";
  if (found.isCutShort)
    text += " The search was ended early: this is the best plan so far.";
  return text;
}

/// Returns for stages the reason why they are not faster, with times of the
/// step as the plan's is told.
static Array listReasons(const PlanAnswer &found, double rest) {
  const solver::Plan &plan = found.best.plan;
  if (plan.chunks.empty())
    return Array();
  std::vector<solver::Refusal> refusals = explain(found.problem, plan);
  for (solver::Refusal &refusal : refusals)
    refusal.time += rest;
  return writeRefusals(found.problem, plan, refusals);
}

static Array writeKinds(const solver::Problem &problem) {
  Array kinds;
  for (const solver::LayerKind &kind : problem.kinds) {
    Array treatments;
    for (const solver::Treatment &treatment : kind.treatments)
      treatments.push_back(Object{{"name", treatment.name},
                                  {"forward_seconds", treatment.forward},
                                  {"backward_seconds", treatment.backward},
                                  {"kept_bytes", treatment.activationMemory}});
    kinds.push_back(Object{{"name", kind.name},
                           {"parameter_bytes", kind.parameterMemory},
                           {"treatments", std::move(treatments)}});
  }
  return kinds;
}

/// Returns the treatment of each layer, chunk by chunk. Within a kind,
/// treatments are in ascending order.
static Array writeChunkLayers(const solver::Problem &problem,
                              const solver::Plan &plan) {
  Array chunks;
  for (const auto &[index, chunk] : llvm::enumerate(plan.chunks)) {
    Array layers;
    for (const auto &[kind, counts] : llvm::enumerate(chunk.counts))
      for (const auto &[treatment, count] : llvm::enumerate(counts))
        for (int64_t i = 0; i < count; ++i)
          layers.push_back(
              Object{{"kind", static_cast<int64_t>(kind)},
                     {"treatment", static_cast<int64_t>(treatment)}});
    chunks.push_back(
        Object{{"stage", problem.schedule.pipeline.stageOfChunk[index]},
               {"layers", std::move(layers)}});
  }
  return chunks;
}

static llvm::Expected<Array> solveCurve(const PlanAnswer &found, double rest,
                                        const Interrupt &stop) {
  if (found.best.plan.chunks.empty())
    return Array();
  std::vector<double> limits;
  for (int tenth = lowestTenth; tenth <= highestTenth; ++tenth)
    limits.push_back(static_cast<double>(found.limitBytes) * tenth / 10);
  solver::SolveOptions options;
  options.mostCandidates = curveCandidates;
  options.stop = &stop.getFlag();
  auto points = solveFrontier(found.problem, limits, options);
  if (!points)
    return points.takeError();
  Array curve;
  for (const solver::FrontierPoint &point : *points) {
    Object object{{"limit", point.limit}, {"seconds", nullptr}};
    if (point.result && point.result->plan) {
      object["seconds"] = point.result->time + rest;
      object["isProven"] = point.result->isProven;
      object["gap"] = point.result->getGap();
      object["treated"] =
          Array(countTreatments(found.problem, *point.result->plan));
    }
    curve.push_back(std::move(object));
  }
  return curve;
}

/// Returns the given settings. The YAML has been compiled, so it is valid.
static MemorySettings readGivenSettings(const PlanRequest &request) {
  DiagnosticList diagnostics;
  const TrainingConfig config =
      parseTrainingConfig(request.yaml, request.input.fileName, diagnostics);
  auto settings = readSettings(config);
  if (settings)
    return *settings;
  // Without a number of layers, the page shows only the planned settings.
  llvm::consumeError(settings.takeError());
  return {};
}

static Array listVaried(const KeptSettings &keep) {
  Array names;
  for (const auto &[name, isKept] :
       {std::pair(keys::offset.getName(), keep.offset),
        {getName(LayerKey::Recompute), keep.recompute},
        {getName(LayerKey::SelectRecompute), keep.selectRecompute},
        {getName(LayerKey::SelectCommRecompute), keep.selectCommRecompute},
        {known::nameOf(&SwapConfig::swap), keep.swap}})
    if (!isKept)
      names.push_back(name);
  return names;
}

/// Returns a self-contained HTML page. It shows given and planned settings,
/// stages, the treatment of each layer, the step's time for different limits
/// (solved for a few limits; `stop` ends that), why no stage is faster, and the
/// changes of the YAML. `rest` is the time of a step in addition to that of the
/// problem.
static llvm::Expected<std::string> makePlanPage(const PlanRequest &request,
                                                const PlanAnswer &found,
                                                const solver::PlanUnits &units,
                                                double rest,
                                                const Interrupt &stop) {
  llvm::Expected<Array> curve = solveCurve(found, rest, stop);
  if (!curve)
    return curve.takeError();
  Array treatments;
  if (!found.problem.kinds.empty())
    for (const solver::Treatment &treatment :
         found.problem.kinds.front().treatments)
      treatments.push_back(treatment.name);
  const MemorySettings given = readGivenSettings(request);
  const int64_t microBatches = found.problem.schedule.pipeline.microBatches;
  const std::string title = makeTitle(request.yaml, request.input.fileName);
  const Object data{
      {"source", title},
      {"about", describePlan(request, found, units)},
      {"bound", describeBound(found, units)},
      {"plan", writeTrainingPlan(found)},
      {"given_settings", writeSettings(given)},
      {"varied", listVaried(request.keep)},
      {"micro_batches", microBatches},
      {"given_micro_batches", given.microBatches.value_or(microBatches)},
      {"treatments", std::move(treatments)},
      {"kinds", writeKinds(found.problem)},
      {"chunks", writeChunkLayers(found.problem, found.best.plan)},
      {"frontier", std::move(*curve)},
      {"refusals", listReasons(found, rest)},
      {"yaml", Array{request.yaml, found.best.yaml}}};
  const std::string name = title + ": a plan";
  return timeline::makePage(
      {name, "plan.html", planStyles, planScripts},
      formatv("{0}", llvm::json::Value(Object(data))).str());
}

//===----------------------------------------------------------------------===//
// mf-plan train.yaml
//===----------------------------------------------------------------------===//

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
  return applyKeyChanges(planned, request.input.fileName,
                         {{("context." + known::deviceMemory.name).str(),
                           writeMemorySize(limitBytes)}});
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
