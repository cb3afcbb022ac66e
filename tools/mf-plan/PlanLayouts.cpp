//===- PlanLayouts.cpp - mf-plan train.yaml --devices=64 ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Findings.h"
#include "PlanCommand.h"
#include "mf/Frontend/Config/SettingChanges.h"
#include "mf/Plan/Settings/LayoutSearch.h"
#include "mf/Plan/Solver/PlanPrint.h"
#include "mf/Support/TextTable.h"
#include "tools/terminal/SearchTerminal.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <cstdlib>
#include <map>

using namespace mf::planner;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;
using llvm::StringRef;
using llvm::json::Array;
using llvm::json::Object;

namespace mf::tools {

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Returns a description of the largest part of the step's time.
static std::string describeTime(const StepMeasure &measure) {
  if (measure.criticalPath.empty())
    return "";
  const auto largest =
      llvm::max_element(measure.criticalPath, [](const auto &a, const auto &b) {
        return a.seconds < b.seconds;
      });
  return formatv("{0} {1:f0} %", largest->kind,
                 100 * largest->seconds / measure.seconds);
}

/// Returns the resource that limits the step.
static std::string describeLimit(const PlannedLayout &planned) {
  if (planned.isLimitedByMemory())
    return formatv("memory of stage {0}, {1}", planned.getFullestStage(),
                   describeTime(planned.measure));
  return describeTime(planned.measure);
}

/// Returns the name of a layout, and the parts of its plan that a YAML cannot
/// select.
static std::string describeLayout(const PlannedLayout &planned) {
  return planned.layout.describe() +
         (planned.recomputeTasks ? " recompute-tasks" : "");
}

/// Returns `4 x 2` for 4 micro-batches of 2 samples.
static std::string describePasses(const DeviceLayout &layout) {
  return formatv("{0} x {1}", layout.passes, layout.batchSize);
}

static void addRow(const std::string &name, const std::string &described,
                   const DeviceLayout &layout, const StepMeasure &measure,
                   const std::string &limit, const solver::PlanUnits &units,
                   TextTable &table) {
  const size_t stage = measure.findFullest();
  const auto peak = static_cast<double>(measure.stages[stage].peakBytes);
  table.addRow({name, described, describePasses(layout),
                units.countTime(measure.seconds),
                formatv("{0:f1}", measure.getTokensPerSecondPerNpu()),
                std::to_string(stage), units.countMemory(peak), limit});
}

static void addGiven(const GivenLayout &given, const solver::PlanUnits &units,
                     TextTable &table) {
  addRow("given", given.layout.describe(), given.layout, given.measure,
         given.fits ? describeTime(given.measure) : "does not fit", units,
         table);
  if (!given.planned || given.rank <= numBestLayouts)
    return;
  const std::string rank =
      std::to_string(given.rank) + (given.isRankLeast ? " or more" : "");
  addRow(rank, describeLayout(*given.planned), given.layout,
         given.planned->measure, describeLimit(*given.planned), units, table);
}

/// Prints layouts that are impossible for the same reason, but for numbers, in
/// one line.
static void printSkipped(const LayoutSearchResult &found,
                         llvm::raw_ostream &os) {
  struct Group {
    std::string reason;
    size_t reasons = 0;
    std::vector<std::string> names;
  };
  std::map<std::string, Group> groups;
  for (const SkippedLayouts &skipped : found.skipped) {
    // The compiler's message may have more lines.
    const std::string reason =
        llvm::StringRef(skipped.reason).split('\n').first.str();
    std::string words = reason;
    llvm::erase_if(words, llvm::isDigit);
    Group &group = groups[words];
    if (group.reasons++ == 0)
      group.reason = reason;
    for (const DeviceLayout &layout : skipped.layouts)
      group.names.push_back(layout.describe());
  }
  constexpr size_t mostNamed = 3;
  for (const auto &[words, group] : groups) {
    os << "no "
       << llvm::join(llvm::ArrayRef(group.names).take_front(mostNamed), ", ");
    if (group.names.size() > mostNamed)
      os << formatv(" and {0} more", group.names.size() - mostNamed);
    os << ": " << group.reason
       << (group.reasons > 1 ? " (with other numbers for others)" : "") << '\n';
  }
}

static llvm::StringRef describePromise(Promise promise) {
  switch (promise) {
  case Promise::Flops:
    return "floating-point operations at the cube's peak";
  case Promise::Layers:
    return "its layers without recompute, and filling the pipeline";
  case Promise::Shallow:
    return "costs of layers in shallow models, within the memory";
  case Promise::Costs:
    break;
  }
  return "costs of layers within the memory";
}

/// Prints why the most promising layouts without a plan have none.
static void printOutpaced(const LayoutSearchResult &found,
                          const solver::PlanUnits &units,
                          llvm::raw_ostream &os) {
  if (found.outpaced.empty())
    return;
  const double best = found.best.front().measure.seconds;
  TextTable table({"not planned", "passes", units.nameTime("at least"),
                   "of the best", "by"});
  for (const OutpacedLayout &layout :
       llvm::ArrayRef(found.outpaced).take_front(numBestLayouts))
    table.addRow({layout.layout.describe() +
                      (layout.recomputeTasks ? " recompute-tasks" : ""),
                  describePasses(layout.layout),
                  units.countTime(layout.seconds),
                  formatv("{0:f2}", layout.seconds / best),
                  describePromise(layout.promise).str()});
  table.print(os);
}

/// Prints the best layouts, the given one, why others are not possible, and the
/// settings of the best one. There must be at least one.
static void printLayouts(llvm::StringRef yaml, const LayoutSearchResult &found,
                         const solver::PlanUnits &units,
                         llvm::raw_ostream &os) {
  const PlannedLayout &best = found.best.front();
  os << formatv("{0} layouts of {1} devices, {2} samples a step, {3} per "
                "device\n",
                found.numLegal, best.layout.getNumRanks(), found.samples,
                units.showMemory(static_cast<double>(found.limitBytes)));
  TextTable table({"rank", "layout", "passes", units.nameTime("step"),
                   "tokens/s/NPU", "fullest stage", units.nameMemory("peak"),
                   "limited by"});
  for (size_t index = 0; index < found.best.size(); ++index) {
    const PlannedLayout &planned = found.best[index];
    addRow(std::to_string(index + 1), describeLayout(planned), planned.layout,
           planned.measure, describeLimit(planned), units, table);
  }
  if (found.given)
    addGiven(*found.given, units, table);
  table.print(os);
  if (found.given && found.given->rank > 0 &&
      found.given->rank <= numBestLayouts)
    os << formatv("the given layout, with the best settings, is rank {0}\n",
                  found.given->rank);
  printSkipped(found, os);
  printOutpaced(found, units, os);
  os << formatv("{0} layouts were planned, {1} promise less; {2} steps were "
                "compiled\n",
                found.numPlanned, found.outpaced.size(), found.compiledSteps);
  if (best.recomputeTasks)
    printRecomputeTasks(os);
  os << "\nsettings:\n";
  os << printSettingChanges(yaml, llvm::StringRef(best.yaml), 2);
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static Object writeLayout(const DeviceLayout &layout) {
  return Object{{"name", layout.describe()},
                {"data_parallel", layout.dataParallel},
                {"model_parallel", layout.modelParallel},
                {"context_parallel", layout.contextParallel},
                {"expert_parallel", layout.expertParallel},
                {"pipeline_stage", layout.stages},
                {"use_seq_parallel", layout.sequenceParallel},
                {"enable_parallel_optimizer", layout.optimizerSharding},
                {"passes", layout.passes},
                {"batch_size", layout.batchSize}};
}

static Object writeStep(const DeviceLayout &layout,
                        const StepMeasure &measure) {
  Object object = writeLayout(layout);
  const size_t stage = measure.findFullest();
  Array path;
  for (const timeline::CriticalShare &share : measure.criticalPath)
    path.push_back(Object{{"kind", share.kind}, {"seconds", share.seconds}});
  object["seconds"] = measure.seconds;
  object["tokens_per_second_per_npu"] = measure.getTokensPerSecondPerNpu();
  object["fullest_stage"] = static_cast<int64_t>(stage);
  object["peak_bytes"] = measure.stages[stage].peakBytes;
  object["critical_path"] = std::move(path);
  return object;
}

static Object writePlanned(const PlannedLayout &planned) {
  Object object = writeStep(planned.layout, planned.measure);
  object["is_limited_by_memory"] = planned.isLimitedByMemory();
  if (planned.recomputeTasks)
    object["recompute_tasks"] = true;
  object["settings"] = writeSettings(planned.settings);
  return object;
}

static Array writeOutpaced(const LayoutSearchResult &found) {
  Array layouts;
  for (const OutpacedLayout &layout : found.outpaced) {
    Object object = writeLayout(layout.layout);
    if (layout.recomputeTasks)
      object["recompute_tasks"] = true;
    object["seconds_at_least"] = layout.seconds;
    object["is_estimate"] = layout.promise >= Promise::Shallow;
    object["by"] = describePromise(layout.promise);
    layouts.push_back(std::move(object));
  }
  return layouts;
}

/// Returns the same information and more as JSON, in seconds and bytes.
static Object writeLayouts(const LayoutSearchResult &found) {
  Array best, skipped;
  for (const PlannedLayout &planned : found.best)
    best.push_back(writePlanned(planned));
  for (const SkippedLayouts &group : found.skipped) {
    Array layouts;
    for (const DeviceLayout &layout : group.layouts)
      layouts.push_back(writeLayout(layout));
    skipped.push_back(
        Object{{"reason", group.reason}, {"layouts", std::move(layouts)}});
  }
  Object object{
      {"limit_bytes", found.limitBytes},
      {"samples", found.samples},
      {"layouts", std::move(best)},
      {"skipped", std::move(skipped)},
      {"legal_layouts", static_cast<int64_t>(found.numLegal)},
      {"planned_layouts", static_cast<int64_t>(found.numPlanned)},
      {"outpaced_layouts", static_cast<int64_t>(found.outpaced.size())},
      {"outpaced", writeOutpaced(found)},
      {"compiled_steps", found.compiledSteps},
      {"is_complete", found.isComplete}};
  if (!found.given)
    return object;
  Object given = writeStep(found.given->layout, found.given->measure);
  given["fits"] = found.given->fits;
  if (found.given->planned) {
    given["planned"] = writePlanned(*found.given->planned);
    given["rank"] = static_cast<int64_t>(found.given->rank);
    given["is_rank_least"] = found.given->isRankLeast;
  }
  object["given"] = std::move(given);
  return object;
}

//===----------------------------------------------------------------------===//
// mf-plan train.yaml --devices=64
//===----------------------------------------------------------------------===//

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
