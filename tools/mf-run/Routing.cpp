//===- Routing.cpp - mf-run --routing -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Routing.h"
#include "mf/Perf/Simulator/StepSimulator.h"
#include "mf/Perf/Simulator/TokenRouting.h"
#include "mf/Support/NumberText.h"
#include "mf/Support/TextTable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using llvm::Error;
using llvm::Expected;
using namespace mf::simulator;

namespace mf::tools {

/// Scenarios repeat after 3 and 4 steps.
static constexpr int64_t numSteps = 12;
static constexpr double bytesPerGib = 1 << 30;

namespace {

/// The steps of one scenario.
struct ScenarioResult {
  double expertSkew = 0, rankSkew = 0, variation = 0;
  int64_t fullest = 0;
  int64_t overflows = 0;
  std::vector<double> seconds;
};

} // namespace

static Expected<std::vector<RoutingScenario>>
readScenarios(const Options &options) {
  std::vector<RoutingScenario> scenarios;
  for (const std::string &name : options.routing) {
    if (name == "all") {
      for (llvm::StringRef known : getRoutingNames())
        scenarios.push_back(*parseRouting(known));
      continue;
    }
    const std::optional<RoutingScenario> scenario = parseRouting(name);
    if (!scenario)
      return llvm::createStringError("--routing: expected " +
                                     llvm::join(getRoutingNames(), ", ") +
                                     " or all, got '" + name + "'");
    scenarios.push_back(*scenario);
  }
  return scenarios;
}

static Expected<double> getStepSeconds(const program::Program &program,
                                       const target::Target &target,
                                       double load) {
  SimulationOptions options;
  options.withSpans = false;
  options.withSensitivity = false;
  options.expertLoad = load;
  Expected<timeline::StepTimeline> timeline =
      simulate(program, target, options);
  if (!timeline)
    return timeline.takeError();
  return timeline->seconds;
}

static Expected<ScenarioResult> runScenario(RoutingScenario scenario,
                                            const ExpertGroup &group,
                                            const program::Program &program,
                                            const target::Target &target) {
  ScenarioResult result;
  const auto mean = static_cast<double>(group.getMeanRows());
  for (int64_t step = 0; step < numSteps; ++step) {
    const RoutedLoad load = routeTokens(scenario, group, step);
    result.expertSkew =
        std::max(result.expertSkew, RoutedLoad::getSkew(load.expertRows));
    result.rankSkew =
        std::max(result.rankSkew, RoutedLoad::getSkew(load.rankRows));
    result.variation =
        std::max(result.variation, RoutedLoad::getVariation(load.rankRows));
    result.fullest = std::max(result.fullest, load.getFullest());
    result.overflows += load.getFullest() > group.room;
    Expected<double> seconds = getStepSeconds(
        program, target, static_cast<double>(load.getFullest()) / mean);
    if (!seconds)
      return seconds.takeError();
    result.seconds.push_back(*seconds);
  }
  llvm::sort(result.seconds);
  return result;
}

Error simulateRouting(const Options &options, const program::Program &program,
                      const target::Target &target, llvm::raw_ostream &os) {
  Expected<std::vector<RoutingScenario>> scenarios = readScenarios(options);
  if (!scenarios)
    return scenarios.takeError();
  Expected<ExpertGroup> group = findExpertGroup(program);
  if (!group)
    return llvm::createStringError("--routing: " + toString(group.takeError()));
  const int64_t mean = group->getMeanRows();
  TextTable table({"routing", "experts max/mean", "ranks max/mean", "ranks cv",
                   "fullest rows", "overflows", "expert-room", "peak, GiB",
                   "shortest, s", "median, s", "longest, s"});
  for (const RoutingScenario scenario : *scenarios) {
    Expected<ScenarioResult> result =
        runScenario(scenario, *group, program, target);
    if (!result)
      return result.takeError();
    table.addRow(
        {getRoutingNames()[static_cast<size_t>(scenario)].str(),
         formatFixed(result->expertSkew, 3), formatFixed(result->rankSkew, 3),
         formatFixed(result->variation, 3), std::to_string(result->fullest),
         llvm::formatv("{0}/{1}", result->overflows, numSteps).str(),
         formatFixed(static_cast<double>(result->fullest) /
                         static_cast<double>(mean),
                     2),
         formatFixed(static_cast<double>(
                         getPeakBytes(program, *group, result->fullest)) /
                         bytesPerGib,
                     2),
         formatFixed(result->seconds.front(), 4),
         formatFixed(result->seconds[numSteps / 2], 4),
         formatFixed(result->seconds.back(), 4)});
  }
  os << "\n"
     << group->experts << " experts on " << group->ranks << " ranks, "
     << group->choices << " for each of a rank's " << group->tokens
     << " tokens: " << mean << " rows on average, room for " << group->room
     << "\n";
  table.print(os);
  return Error::success();
}

/// Prints the choices of the first steps of a run. Loads of ranks are printed
/// only if the ranks shard experts that process all of their tokens.
static void printChoices(const Options &options, RoutingScenario scenario,
                         const RouterSize &size,
                         const std::optional<ExpertGroup> &shared,
                         llvm::raw_ostream &os) {
  ExpertGroup group;
  group.experts = size.experts;
  group.choices = size.choices;
  group.tokens = size.tokens;
  if (shared)
    group = *shared;
  std::vector<std::string> titles = {"step", "experts max/mean"};
  if (shared)
    llvm::append_values(titles, "ranks max/mean", "fullest rows", "room",
                        "overflow");
  TextTable table(titles);
  for (int64_t step = 0; step < std::min<int64_t>(options.steps, numSteps);
       ++step) {
    const RoutedLoad load = routeTokens(scenario, group, step);
    const int64_t rows = load.getFullest();
    std::vector<std::string> row = {
        std::to_string(step + 1),
        formatFixed(RoutedLoad::getSkew(load.expertRows), 3)};
    if (shared)
      llvm::append_values(
          row, formatFixed(RoutedLoad::getSkew(load.rankRows), 3),
          std::to_string(rows), std::to_string(group.room),
          std::to_string(std::max<int64_t>(rows - group.room, 0)));
    table.addRow(row);
  }
  os << size.choices << " of " << size.experts << " experts for each of "
     << size.tokens << " tokens";
  if (shared)
    os << ", on " << group.ranks << " ranks";
  os << "\n";
  table.print(os);
}

Expected<std::shared_ptr<runner::RouterChoices>>
chooseRouting(const Options &options, const program::Program &program,
              llvm::raw_ostream &os) {
  Expected<std::vector<RoutingScenario>> scenarios = readScenarios(options);
  if (!scenarios)
    return scenarios.takeError();
  if (scenarios->size() != 1)
    return llvm::createStringError("--routing: an execution routes tokens in "
                                   "one way; expected one name, or --simulate");
  auto choices = runner::RouterChoices::create(scenarios->front(), program);
  if (!choices)
    return llvm::createStringError("--routing: " +
                                   toString(choices.takeError()));
  Expected<ExpertGroup> group = findExpertGroup(program);
  std::optional<ExpertGroup> shared;
  if (group)
    shared = *group;
  else
    llvm::consumeError(group.takeError());
  printChoices(options, scenarios->front(), (*choices)->getSize(), shared, os);
  return std::move(*choices);
}

} // namespace mf::tools
