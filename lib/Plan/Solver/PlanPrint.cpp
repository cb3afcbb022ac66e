//===- PlanPrint.cpp - Plans as text --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Plan/Solver/PlanPrint.h"
#include "mf/Support/NumberText.h"
#include "mf/Support/TextTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FormatVariadic.h"
#include <array>
#include <cstdlib>
#include <map>
#include <set>

using llvm::raw_ostream;
using llvm::Twine;

namespace mf::solver {

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

static std::string name(const std::string &what, const std::string &unit) {
  return unit.empty() ? what : what + ", " + unit;
}

/// Formats a number of a problem exactly, and a measured number with a few
/// digits.
static std::string count(double value, const std::string &unit) {
  return unit.empty() ? formatAmount(value) : formatRounded(value);
}

std::string PlanUnits::countTime(double value) const {
  return count(value * timeScale, time);
}

std::string PlanUnits::countMemory(double value) const {
  return count(value * memoryScale, memory);
}

std::string PlanUnits::showTime(double value) const {
  return countTime(value) + (time.empty() ? "" : " " + time);
}

std::string PlanUnits::showMemory(double value) const {
  return countMemory(value) + (memory.empty() ? "" : " " + memory);
}

std::string PlanUnits::nameTime(const std::string &what) const {
  return name(what, time);
}

std::string PlanUnits::nameMemory(const std::string &what) const {
  return name(what, memory);
}

namespace {

using schedule::Pipeline;

/// A path of more parts than this is not printed, because nobody would read it.
constexpr size_t mostVisits = 16;
/// If there are more chunks than this, the chunks of a part are not listed.
constexpr size_t mostNamedChunks = 4;

std::string count(int64_t number, llvm::StringRef what) {
  const char *plural = what.ends_with("ch") ? "es" : "s";
  return (Twine(number) + " " + what + (number == 1 ? "" : plural)).str();
}

//===----------------------------------------------------------------------===//
// Table
//===----------------------------------------------------------------------===//

/// Joins a number of each chunk of a stage: `4` or `2,3`.
template <typename Function>
std::string joinChunks(llvm::ArrayRef<int32_t> chunks, Function getNumber) {
  std::string text;
  for (int32_t chunk : chunks)
    text += (text.empty() ? "" : ",") + llvm::itostr(getNumber(chunk));
  return text;
}

//===----------------------------------------------------------------------===//
// Critical path
//===----------------------------------------------------------------------===//

/// Tasks of a path that follow one another on a stage: how many of each phase
/// of each chunk.
struct Visit {
  int64_t stage = 0;
  std::map<std::pair<int32_t, schedule::Phase>, int64_t> counts;
};

std::vector<Visit> getVisits(const Pipeline &pipeline,
                             llvm::ArrayRef<PhaseSegment> path) {
  std::vector<Visit> visits;
  for (const PhaseSegment &segment : path) {
    if (segment.chunk < 0)
      continue;
    const int64_t stage = pipeline.stageOfChunk[segment.chunk];
    if (visits.empty() || visits.back().stage != stage)
      visits.push_back({stage, {}});
    visits.back().counts[{segment.chunk, segment.phase}] += segment.count;
  }
  return visits;
}

std::string getTaskName(schedule::Phase phase) {
  constexpr std::array names = {"forward", "backward", "input gradient",
                                "weight gradient", "recompute"};
  return names[static_cast<size_t>(phase)];
}

/// Joins texts: `a, b and c`.
std::string enumerate(std::vector<std::string> parts) {
  const std::string last = parts.back();
  parts.pop_back();
  return parts.empty() ? last : llvm::join(parts, ", ") + " and " + last;
}

/// Describes a visit: `12 forwards and 11 backwards`. The chunk is named if a
/// stage has several, or their number if the list would be long.
std::string describeTasks(const Pipeline &pipeline, const Visit &visit) {
  const bool namesChunks = visit.counts.size() <= mostNamedChunks;
  std::map<schedule::Phase, int64_t> sums;
  std::set<int32_t> chunks;
  std::vector<std::string> parts;
  for (const auto &[task, number] : visit.counts) {
    std::string part = count(number, getTaskName(task.second));
    if (pipeline.getNumChunks() > pipeline.stages)
      part += (" of chunk " + Twine(task.first)).str();
    parts.push_back(part);
    sums[task.second] += number;
    chunks.insert(task.first);
  }
  if (namesChunks)
    return enumerate(parts);
  parts.clear();
  for (auto [phase, number] : sums)
    parts.push_back(count(number, getTaskName(phase)));
  return enumerate(parts) + " of " +
         count(static_cast<int64_t>(chunks.size()), "chunk");
}

/// A visit, or one task of the same phase on each of several stages.
struct Passage {
  std::string text;
  size_t visits = 0;
};

/// Returns how many of the visits are single tasks of the same phase on
/// consecutive stages.
size_t getWaveLength(llvm::ArrayRef<Visit> visits) {
  const schedule::Phase phase = visits.front().counts.begin()->first.second;
  size_t length = 0;
  while (length < visits.size()) {
    const Visit &visit = visits[length];
    const bool isOneTask = visit.counts.size() == 1 &&
                           visit.counts.begin()->first.second == phase &&
                           visit.counts.begin()->second == 1;
    const int64_t direction =
        length > 1 ? visits[1].stage - visits[0].stage : 0;
    const bool follows =
        length == 0 ||
        (length == 1 && std::abs(visit.stage - visits[0].stage) == 1) ||
        (length > 1 && visit.stage == visits[length - 1].stage + direction);
    if (!isOneTask || !follows)
      break;
    ++length;
  }
  return length;
}

Passage describePassage(const Pipeline &pipeline,
                        llvm::ArrayRef<Visit> visits) {
  const Visit &first = visits.front();
  const size_t length = getWaveLength(visits);
  if (length < 3)
    return {describeTasks(pipeline, first) + " on stage " +
                llvm::itostr(first.stage),
            1};
  return {"a " + getTaskName(first.counts.begin()->first.second) +
              " on each stage from " + llvm::itostr(first.stage) + " to " +
              llvm::itostr(visits[length - 1].stage),
          length};
}

void printPath(const Problem &problem, const Evaluation &evaluation,
               const PlanUnits &units, raw_ostream &os) {
  const Pipeline &pipeline = problem.schedule.pipeline;
  const std::vector<Visit> visits =
      getVisits(pipeline, evaluation.criticalPath);
  std::vector<std::string> parts;
  for (llvm::ArrayRef<Visit> left = visits; !left.empty();) {
    if (parts.size() == mostVisits) {
      parts.push_back("and " +
                      count(static_cast<int64_t>(left.size()), "more stretch"));
      break;
    }
    const Passage passage = describePassage(pipeline, left);
    parts.push_back(passage.text);
    left = left.drop_front(passage.visits);
  }
  double work = 0, update = 0;
  for (const PhaseSegment &segment : evaluation.criticalPath) {
    work += segment.time;
    if (segment.chunk < 0)
      update += segment.time;
  }
  if (update > 0)
    parts.push_back("the update of " + units.showTime(update));
  os << "the step is this path: " << llvm::join(parts, ", ");
  // Rounding is no transfer.
  if (evaluation.time - work > 1e-6 * evaluation.time)
    os << "; and transfers of " << units.showTime(evaluation.time - work);
  os << "\n";
}

void printGap(const SolveResult &result, const PlanUnits &units,
              raw_ostream &os) {
  os << "bound " << units.showTime(result.bound) << "\n";
  if (result.isProven)
    os << "gap proven\n";
  else
    os << llvm::formatv("gap {0:f2} %\n", 100 * result.getGap());
}

} // namespace

void printPlanTable(const Problem &problem, const Plan &plan,
                    const Evaluation &evaluation, const PlanUnits &units,
                    raw_ostream &os) {
  std::vector<std::string> header = {"stage", "layers"};
  for (const Treatment &treatment : problem.kinds.front().treatments)
    header.push_back(treatment.name);
  header.insert(header.end(),
                {units.nameMemory("peak"), units.nameMemory("limit"),
                 units.nameMemory("room"), units.nameTime("busy")});
  TextTable table(header);
  const auto chunks = problem.schedule.pipeline.getChunksOfStages();
  for (auto [stage, ofStage] : llvm::enumerate(chunks)) {
    std::vector<std::string> row = {llvm::utostr(stage)};
    row.push_back(joinChunks(ofStage, [&](int32_t chunk) {
      return plan.chunks[chunk].getNumLayers();
    }));
    for (size_t i = 0; i < problem.getNumTreatments(); ++i)
      row.push_back(joinChunks(ofStage, [&](int32_t chunk) {
        return plan.chunks[chunk].getTreated(i);
      }));
    const double peak = evaluation.peaks[stage];
    const double limit = problem.stages[stage].limit;
    for (double memory : {peak, limit, limit - peak})
      row.push_back(units.countMemory(memory));
    row.push_back(units.countTime(evaluation.busy[stage]));
    table.addRow(std::move(row));
  }
  table.print(os);
}

void printResult(const Problem &problem, const SolveResult &result,
                 raw_ostream &os, const PlanUnits &units) {
  const Pipeline &pipeline = problem.schedule.pipeline;
  os << problem.name << ": " << count(problem.getNumLayers(), "layer") << " on "
     << count(pipeline.stages, "stage") << ", "
     << count(pipeline.microBatches, "micro-batch") << ", schedule "
     << problem.schedule.name << "\n";
  if (!result.plan) {
    os << "no plan is better\n";
    return printGap(result, units, os);
  }
  const Evaluation evaluation = evaluate(problem, *result.plan);
  printPlanTable(problem, *result.plan, evaluation, units, os);
  os << "step " << units.showTime(result.time) << "\n";
  printGap(result, units, os);
  printPath(problem, evaluation, units, os);
}

} // namespace mf::solver
