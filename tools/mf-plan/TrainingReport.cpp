//===- TrainingReport.cpp - Report of mf-plan on a training YAML ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "PlanCommand.h"
#include "mf/Frontend/Config/ModelKeys.h"
#include "mf/Frontend/Config/SettingChanges.h"
#include "mf/Layers/LayerSettings.h"
#include "mf/Plan/Solver/PlanPrint.h"
#include "mf/Plan/Solver/ProblemJson.h"
#include "mf/Support/TextTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mf::planner;
using llvm::formatv;
using llvm::json::Array;
using llvm::json::Object;

namespace mf::tools {

static llvm::json::Value toJson(const StageTable &table) {
  if (table.size() == 1)
    return Array(table.front());
  Array rows;
  for (const std::vector<int64_t> &row : table)
    rows.push_back(Array(row));
  return rows;
}

static llvm::json::Value toJson(const std::vector<OperatorCounts> &operators) {
  Object patterns;
  for (const OperatorCounts &counts : operators)
    patterns[counts.pattern] = toJson(counts.layers);
  return patterns;
}

static llvm::json::Value toJson(const std::vector<SwapItem> &items) {
  Array array;
  for (const SwapItem &item : items) {
    Object object{{"backward_prefetch", item.backwardPrefetch},
                  {"layers", Array(item.layers)}};
    if (!item.operatorName.empty())
      object["op_name"] = item.operatorName;
    array.push_back(std::move(object));
  }
  return array;
}

Object writeSettings(const MemorySettings &settings) {
  Object object;
  auto add = [&](llvm::StringRef name, const auto &value) {
    if (value)
      object[name] = *value;
  };
  auto addTable = [&](llvm::StringRef name, const auto &value) {
    if (value)
      object[name] = toJson(*value);
  };
  add(known::nameOf(&ParallelConfig::dataParallel), settings.dataParallel);
  add(known::nameOf(&ParallelConfig::modelParallel), settings.modelParallel);
  add(known::nameOf(&ParallelConfig::contextParallel),
      settings.contextParallel);
  add(known::nameOf(&ParallelConfig::expertParallel), settings.expertParallel);
  add(known::nameOf(&ParallelConfig::pipelineStage), settings.stages);
  add(known::nameOf(&ParallelConfig::microBatchNum), settings.microBatches);
  add(known::nameOf(&RunnerConfig::batchSize), settings.batchSize);
  add(known::nameOf(&RunnerConfig::gradientAccumulationSteps),
      settings.gradientAccumulation);
  add(known::nameOf(&ParallelConfig::useSeqParallel),
      settings.sequenceParallel);
  add(known::nameOf(&ParallelConfig::enableParallelOptimizer),
      settings.optimizerSharding);
  add(known::nameOf(&ParallelConfig::pipelineScheduler), settings.scheduler);
  add(keys::interleave.getName(), settings.interleave);
  add("less_memory_interleave", settings.lessMemoryInterleave);
  addTable(keys::offset.getName(), settings.offset);
  addTable(getName(LayerKey::Recompute), settings.recompute);
  addTable(getName(LayerKey::SelectRecompute), settings.selectRecompute);
  addTable(getName(LayerKey::SelectCommRecompute),
           settings.selectCommRecompute);
  addTable(known::nameOf(&SwapConfig::swap), settings.swap);
  return object;
}

solver::PlanUnits getTrainingUnits(double seconds, int64_t limitBytes) {
  constexpr int64_t gib = 1 << 30, mib = 1 << 20;
  solver::PlanUnits units{"s", "GiB", 1, 1.0 / gib};
  if (seconds < 1) {
    units.time = "ms";
    units.timeScale = 1e3;
  }
  if (limitBytes < gib) {
    units.memory = "MiB";
    units.memoryScale = 1.0 / mib;
  }
  return units;
}

/// Returns the pinned memory of the host for a rank of the stage that has most.
static int64_t getHostBytes(const StepMeasure &measure) {
  int64_t most = 0;
  for (const StageMeasure &stage : measure.stages)
    most = std::max(most, stage.hostBytes);
  return most;
}

static std::vector<std::string> makeRow(llvm::StringRef name,
                                        const StepMeasure &measure,
                                        int64_t limit, bool hasHost,
                                        const solver::PlanUnits &units) {
  const size_t stage = measure.findFullest();
  const int64_t peak = measure.stages[stage].peakBytes;
  std::vector<std::string> row = {
      name.str(), units.countTime(measure.seconds), std::to_string(stage),
      units.countMemory(static_cast<double>(peak)),
      units.countMemory(static_cast<double>(limit - peak))};
  if (hasHost)
    row.push_back(
        units.countMemory(static_cast<double>(getHostBytes(measure))));
  return row;
}

/// Returns the compiler's memory and time in the form of the solver's.
static solver::Evaluation toEvaluation(const PlanAnswer &found) {
  solver::Evaluation evaluation;
  const auto microBatches =
      static_cast<double>(found.problem.schedule.pipeline.microBatches);
  for (const StageMeasure &stage : found.best.measure.stages) {
    evaluation.peaks.push_back(static_cast<double>(stage.peakBytes));
    evaluation.busy.push_back(stage.updateTime);
  }
  for (const ChunkMeasure &chunk : found.best.measure.chunks)
    evaluation.busy[chunk.stage] +=
        microBatches * (chunk.forward + chunk.backward);
  return evaluation;
}

/// Prints the gain of planning in a line.
static void printGain(const PlanAnswer &found, llvm::raw_ostream &os) {
  if (found.isGiven) {
    os << "no settings that were found make the step shorter\n";
    return;
  }
  const double ratio = found.best.measure.seconds / found.given.seconds;
  os << (found.givenFits
             ? ""
             : "what is given does not fit into the memory of a device; ")
     << formatv("the planned step is {0:f2} % {1}\n", 100 * std::abs(1 - ratio),
                ratio > 1 ? "longer" : "shorter");
}

/// Prints the stages with the requested limit. The search may leave a part of
/// it free.
static void printStages(const PlanAnswer &found, const solver::PlanUnits &units,
                        llvm::raw_ostream &os) {
  solver::Problem problem = found.problem;
  for (solver::StageMemory &stage : problem.stages)
    stage.limit = static_cast<double>(found.limitBytes);
  printPlanTable(problem, found.best.plan, toEvaluation(found), units, os);
}

void printTrainingPlan(llvm::StringRef yaml, const PlanAnswer &found,
                       const solver::PlanUnits &units, llvm::raw_ostream &os) {
  const schedule::Pipeline &pipeline = found.problem.schedule.pipeline;
  // There is no problem if the time ended before layers were known.
  if (found.problem.kinds.empty())
    os << formatv("{0} per device\n",
                  units.showMemory(static_cast<double>(found.limitBytes)));
  else
    os << formatv("{0} layers on {1} stages, {2} micro-batches, schedule {3}, "
                  "{4} per device\n",
                  found.problem.getNumLayers(), pipeline.stages,
                  pipeline.microBatches, found.problem.schedule.name,
                  units.showMemory(static_cast<double>(found.limitBytes)));
  // What a step exchanges without swap is smaller.
  constexpr int64_t ofSwap = 1 << 24;
  const bool hasHost = std::max(getHostBytes(found.given),
                                getHostBytes(found.best.measure)) >= ofSwap;
  std::vector<std::string> header = {"settings", units.nameTime("step"),
                                     "fullest stage", units.nameMemory("peak"),
                                     units.nameMemory("room")};
  if (hasHost)
    header.push_back(units.nameMemory("pinned host"));
  TextTable table(header);
  table.addRow(makeRow("given", found.given, found.limitBytes, hasHost, units));
  if (!found.isGiven)
    table.addRow(makeRow("planned", found.best.measure, found.limitBytes,
                         hasHost, units));
  table.print(os);
  printGain(found, os);
  for (const std::string &pipeline : found.notTried)
    os << "not tried: " << pipeline << '\n';
  if (found.boundSeconds > 0)
    os << formatv("by the costs of layers no plan is shorter than {0}; {1} "
                  "steps were compiled\n",
                  units.showTime(found.boundSeconds), found.compiledSteps);
  if (found.isGiven)
    return;
  os << '\n';
  if (!found.best.plan.chunks.empty())
    printStages(found, units, os);
  if (!found.schedule.empty())
    os << formatv(
        "\nno YAML asks for this schedule: mf-opt has --schedule={0}\n",
        found.schedule);
  if (found.recomputeTasks)
    printRecomputeTasks(os);
  for (const std::string &change : found.otherChanges)
    os << (&change == &found.otherChanges.front() ? "\n" : "")
       << "needed beside offset, recompute and swap: " << change << '\n';
  os << "\nsettings:\n";
  os << printSettingChanges(yaml, llvm::StringRef(found.best.yaml), 2);
}

void printRecomputeTasks(llvm::raw_ostream &os) {
  os << "\nno YAML asks for recompute in tasks of its own: mf-opt has "
        "--recompute-tasks\n";
}

static Object writeMeasure(const StepMeasure &measure) {
  Array stages, chunks;
  for (const StageMeasure &stage : measure.stages)
    stages.push_back(Object{{"peak_bytes", stage.peakBytes},
                            {"host_bytes", stage.hostBytes},
                            {"static_bytes", stage.staticBytes},
                            {"update_seconds", stage.updateTime}});
  for (const ChunkMeasure &chunk : measure.chunks)
    chunks.push_back(Object{{"stage", chunk.stage},
                            {"forward_seconds", chunk.forward},
                            {"backward_seconds", chunk.backward},
                            {"frame_bytes", chunk.frameBytes}});
  return Object{{"seconds", measure.seconds},
                {"stages", std::move(stages)},
                {"chunks", std::move(chunks)}};
}

Object writeTrainingPlan(const PlanAnswer &found) {
  Object given = writeMeasure(found.given);
  given["fits"] = found.givenFits;
  Object planned = writeMeasure(found.best.measure);
  planned["is_given"] = found.isGiven;
  planned["settings"] = writeSettings(found.best.settings);
  if (!found.schedule.empty())
    planned["schedule"] = found.schedule;
  if (found.recomputeTasks)
    planned["recompute_tasks"] = true;
  if (!found.otherChanges.empty())
    planned["other_changes"] = Array(found.otherChanges);
  return Object{{"limit_bytes", found.limitBytes},
                {"not_tried", Array(found.notTried)},
                {"given", std::move(given)},
                {"planned", std::move(planned)},
                {"bound_seconds", found.boundSeconds},
                {"compiled_steps", found.compiledSteps},
                {"solved", solver::writeResult(found.problem, found.result)}};
}

} // namespace mf::tools
