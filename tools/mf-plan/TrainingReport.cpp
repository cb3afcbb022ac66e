//===- TrainingReport.cpp - What mf-plan says of a training YAML ----------===//

#include "TrainingReport.h"
#include "SettingText.h"
#include "mf/Plan/ProblemJson.h"
#include "mf/Text/TextTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mf::planner;
using llvm::formatv;
using llvm::json::Array;
using llvm::json::Object;

namespace mf::tools {

plan::PlanUnits getTrainingUnits() { return {"s", "GiB", 1, 1.0 / (1 << 30)}; }

/// The stage that needs most.
static size_t findFullest(const StepMeasure &measure) {
  return llvm::max_element(measure.stages,
                           [](const StageMeasure &a, const StageMeasure &b) {
                             return a.peakBytes < b.peakBytes;
                           }) -
         measure.stages.begin();
}

static std::vector<std::string> makeRow(llvm::StringRef name,
                                        const StepMeasure &measure,
                                        int64_t limit,
                                        const plan::PlanUnits &units) {
  const size_t stage = findFullest(measure);
  const int64_t peak = measure.stages[stage].peakBytes;
  return {name.str(), units.countTime(measure.seconds), std::to_string(stage),
          units.countMemory(static_cast<double>(peak)),
          units.countMemory(static_cast<double>(limit - peak))};
}

/// What the compiler says of memory and time, as the solver does.
static plan::Evaluation toEvaluation(const StepPlan &found) {
  plan::Evaluation evaluation;
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

void printTrainingPlan(const StepPlan &found, llvm::raw_ostream &os) {
  const plan::PlanUnits units = getTrainingUnits();
  TextTable table(
      {"at most " + units.showMemory(static_cast<double>(found.limitBytes)),
       units.nameTime("step"), "fullest stage", units.nameMemory("peak"),
       units.nameMemory("room")});
  table.addRow(makeRow("given", found.given, found.limitBytes, units));
  if (!found.isGiven)
    table.addRow(
        makeRow("planned", found.best.measure, found.limitBytes, units));
  table.print(os);
  if (found.isGiven) {
    os << "no settings that were found make the step shorter\n";
  } else {
    os << '\n';
    if (!found.best.plan.chunks.empty())
      printPlanTable(found.problem, found.best.plan, toEvaluation(found), units,
                     os);
    os << "\nsettings:\n";
    printSettings(found.best.settings, os);
  }
  if (found.boundSeconds > 0)
    os << formatv("no settings make it shorter than {0}\n",
                  units.showTime(found.boundSeconds));
  os << formatv("{0} steps were compiled\n", found.compiledSteps);
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

Object writeTrainingPlan(const StepPlan &found) {
  Object given = writeMeasure(found.given);
  given["fits"] = found.givenFits;
  Object planned = writeMeasure(found.best.measure);
  planned["is_given"] = found.isGiven;
  planned["settings"] = writeSettings(found.best.settings);
  return Object{{"limit_bytes", found.limitBytes},
                {"given", std::move(given)},
                {"planned", std::move(planned)},
                {"bound_seconds", found.boundSeconds},
                {"compiled_steps", found.compiledSteps},
                {"solved", plan::writeResult(found.problem, found.result)}};
}

} // namespace mf::tools
