//===- PlanPage.cpp - A plan as a page ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "PlanPage.h"
#include "SettingText.h"
#include "TrainingReport.h"
#include "mf/Frontend/Config/TrainingConfig.h"
#include "mf/Perf/Timeline/HtmlPage.h"
#include "mf/Plan/Solver/FrontierPrint.h"
#include "mf/Plan/Solver/RefusalPrint.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mf::planner;
using llvm::formatv;
using llvm::StringLiteral;
using llvm::json::Array;
using llvm::json::Object;

namespace mf::tools {

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
  return text +
         formatv(" · {0} layers · {1} stages · {2} micro-batches · schedule "
                 "{3} · {4} steps compiled",
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
       {std::pair("offset", keep.offset),
        {"recompute", keep.recompute},
        {"select_recompute", keep.selectRecompute},
        {"select_comm_recompute", keep.selectCommRecompute},
        {"swap", keep.swap}})
    if (!isKept)
      names.push_back(name);
  return names;
}

llvm::Expected<std::string> makePlanPage(const PlanRequest &request,
                                         const PlanAnswer &found,
                                         const solver::PlanUnits &units,
                                         double rest, const Interrupt &stop) {
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

} // namespace mf::tools
