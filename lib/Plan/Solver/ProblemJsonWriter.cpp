//===- ProblemJsonWriter.cpp - Problems as JSON ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Plan/Solver/ProblemJson.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

namespace mf::solver {

/// Returns numbers of chunks, given in the order of execution: a list over the
/// stages for each row of chunks, or one list if there is one row. All stages
/// have the same number of chunks.
static Value writeByChunk(const schedule::Pipeline &pipeline,
                          llvm::ArrayRef<int64_t> numbers) {
  const auto chunks = pipeline.getChunksOfStages();
  Array rows;
  for (size_t row = 0; row < chunks.front().size(); ++row) {
    Array stages;
    for (const std::vector<int32_t> &ofStage : chunks)
      stages.push_back(numbers[ofStage[row]]);
    rows.push_back(std::move(stages));
  }
  return rows.size() == 1 ? std::move(rows.front()) : Value(std::move(rows));
}

/// Returns the treatments by name with their numbers of layers, for each kind
/// of a chunk and without treatments that have no layers. The form is that of
/// `forbidden`.
static Object writeChunk(const Problem &problem, const ChunkPlan &chunk) {
  Object object;
  for (auto [kind, counts] : llvm::zip_equal(problem.kinds, chunk.counts)) {
    Object treated;
    for (auto [treatment, count] : llvm::zip_equal(kind.treatments, counts))
      if (count != 0)
        treated[treatment.name] = count;
    if (!treated.empty())
      object[kind.name] = std::move(treated);
  }
  return object;
}

namespace {

Object writeTreatment(const Treatment &treatment,
                      const schedule::Schedule &schedule) {
  Object object{{"name", treatment.name},
                {"forward", treatment.forward},
                {"backward", treatment.backward},
                {"block_mem_act", treatment.activationMemory}};
  if (!schedule.pipeline.recomputed.empty()) {
    object["recompute_task"] = treatment.recompute;
    object["recomputed_mem"] = treatment.recomputedMemory;
  }
  if (schedule.splitsBackward)
    object["weight_gradient"] = treatment.weightGradient;
  if (treatment.transientMemory != 0)
    object["transient_mem"] = treatment.transientMemory;
  if (treatment.copyOut != 0)
    object["copy_out"] = treatment.copyOut;
  if (treatment.copyIn != 0)
    object["copy_in"] = treatment.copyIn;
  return object;
}

Object writeKind(const LayerKind &kind, const schedule::Schedule &schedule) {
  Array treatments;
  for (const Treatment &treatment : kind.treatments)
    treatments.push_back(writeTreatment(treatment, schedule));
  return Object{{"name", kind.name},
                {"count", kind.count},
                {"forward", kind.treatments.front().forward},
                {"block_mem_par", kind.parameterMemory},
                {"update_time", kind.updateTime},
                {"treatments", std::move(treatments)}};
}

Object writeExtra(const ChunkExtra &extra, bool splits) {
  Object object{{"chunk", extra.chunk},
                {"forward", extra.forward},
                {"backward", extra.backward},
                {"block_mem_par", extra.parameterMemory},
                {"block_mem_act", extra.activationMemory},
                {"transient_mem", extra.transientMemory},
                {"update_time", extra.updateTime}};
  if (splits)
    object["weight_gradient"] = extra.weightGradient;
  return object;
}

void writeSchedule(const Problem &problem, Object &object) {
  const schedule::Pipeline &pipeline = problem.schedule.pipeline;
  object["schedule"] = problem.schedule.name;
  object["pipeline_stage"] = pipeline.stages;
  object["pp_interleave_num"] = pipeline.getNumChunks() / pipeline.stages;
  object["micro_num"] = pipeline.microBatches;
  if (pipeline.pieces > 1)
    object["seq_split_num"] = pipeline.pieces;
  if (!pipeline.recomputed.empty())
    object["recompute_tasks"] = true;
  object["comm_time"] = problem.transferTime;
  if (!problem.schedule.pairs.empty())
    object["pair_hidden"] = problem.pairHidden;
}

void writeCosts(const Problem &problem, Object &object) {
  const bool splits = problem.schedule.splitsBackward;
  Array layers, extras, limits, constants;
  for (const LayerKind &kind : problem.kinds)
    layers.push_back(writeKind(kind, problem.schedule));
  for (const ChunkExtra &extra : problem.extras)
    extras.push_back(writeExtra(extra, splits));
  for (const StageMemory &stage : problem.stages) {
    limits.push_back(stage.limit);
    constants.push_back(stage.constant);
  }
  object["layers"] = std::move(layers);
  if (!extras.empty())
    object["extras"] = std::move(extras);
  object["memory_limit"] = std::move(limits);
  object["constant_mem"] = std::move(constants);
}

Object writeKeep(const Problem &problem) {
  const schedule::Pipeline &pipeline = problem.schedule.pipeline;
  Object keep;
  if (!problem.fixedLayers.empty())
    keep["num_layer_list"] = writeByChunk(pipeline, problem.fixedLayers);
  for (auto [treatment, fixed] : llvm::enumerate(problem.fixedTreatments))
    if (!fixed.empty())
      keep[problem.kinds.front().treatments[treatment].name] =
          writeByChunk(pipeline, fixed);
  return keep;
}

Array writeForbidden(const Problem &problem) {
  Array list;
  for (const ForbiddenStage &forbidden : problem.forbidden) {
    Array chunks;
    for (const ChunkPlan &chunk : forbidden.chunks)
      chunks.push_back(writeChunk(problem, chunk));
    list.push_back(
        Object{{"stage", forbidden.stage}, {"chunks", std::move(chunks)}});
  }
  return list;
}

void writeChoices(const Problem &problem, Object &object) {
  object["min_layers"] = problem.minLayersPerChunk;
  if (problem.maxLayersPerChunk > 0)
    object["max_layers"] = problem.maxLayersPerChunk;
  if (Object keep = writeKeep(problem); !keep.empty())
    object["keep"] = std::move(keep);
  if (problem.treatmentsInOrder)
    object["treatments_in_order"] = true;
  if (problem.numFollowers > 0)
    object["followers"] = static_cast<int64_t>(problem.numFollowers);
  Array exclusive;
  for (auto [first, second] : problem.exclusive)
    exclusive.push_back(Array{problem.kinds.front().treatments[first].name,
                              problem.kinds.front().treatments[second].name});
  if (!exclusive.empty())
    object["exclusive"] = std::move(exclusive);
  if (Array forbidden = writeForbidden(problem); !forbidden.empty())
    object["forbidden"] = std::move(forbidden);
}

} // namespace

Value writeProblem(const Problem &problem) {
  Object object;
  if (!problem.name.empty())
    object["name"] = problem.name;
  writeSchedule(problem, object);
  writeCosts(problem, object);
  writeChoices(problem, object);
  return object;
}

namespace {

constexpr const char *phaseNames[] = {"forward", "backward", "input_gradient",
                                      "weight_gradient", "recompute"};

void writeTables(const Problem &problem, const Plan &plan, Object &object) {
  const schedule::Pipeline &pipeline = problem.schedule.pipeline;
  const int64_t each = problem.getNumLayers() / pipeline.getNumChunks();
  std::vector<int64_t> layers, offset;
  for (const ChunkPlan &chunk : plan.chunks) {
    layers.push_back(chunk.getNumLayers());
    offset.push_back(chunk.getNumLayers() - each);
  }
  object["num_layer_list"] = writeByChunk(pipeline, layers);
  object["offset"] = writeByChunk(pipeline, offset);
  Object treatments;
  for (size_t i = 0; i < problem.getNumTreatments(); ++i) {
    std::vector<int64_t> treated;
    for (const ChunkPlan &chunk : plan.chunks)
      treated.push_back(chunk.getTreated(i));
    treatments[problem.kinds.front().treatments[i].name] =
        writeByChunk(pipeline, treated);
  }
  object["treatments"] = std::move(treatments);
  Array chunks;
  for (const ChunkPlan &chunk : plan.chunks)
    chunks.push_back(writeChunk(problem, chunk));
  object["chunks"] = std::move(chunks);
}

Array writePath(const Problem &problem, const Evaluation &evaluation) {
  Array path;
  for (const PhaseSegment &segment : evaluation.criticalPath) {
    if (segment.chunk < 0) {
      path.push_back(Object{{"task", "update"}, {"time", segment.time}});
      continue;
    }
    path.push_back(
        Object{{"task", phaseNames[static_cast<size_t>(segment.phase)]},
               {"chunk", segment.chunk},
               {"stage", problem.schedule.pipeline.stageOfChunk[segment.chunk]},
               {"count", segment.count},
               {"time", segment.time}});
  }
  return path;
}

void writeEvaluation(const Problem &problem, const Evaluation &evaluation,
                     Object &object) {
  Array stages;
  for (auto [stage, memory] : llvm::enumerate(problem.stages))
    stages.push_back(Object{{"peak", evaluation.peaks[stage]},
                            {"limit", memory.limit},
                            {"room", memory.limit - evaluation.peaks[stage]},
                            {"busy", evaluation.busy[stage]}});
  object["stages"] = std::move(stages);
  object["forward"] = Array(evaluation.forward);
  object["backward"] = Array(evaluation.backward);
  object["critical_path"] = writePath(problem, evaluation);
}

} // namespace

Value writeResult(const Problem &problem, const SolveResult &result) {
  Object object{{"problem", problem.name},
                {"is_proven", result.isProven},
                {"bound", result.bound},
                {"search", Object{{"options", result.options},
                                  {"options_left", result.optionsLeft},
                                  {"nodes", result.nodes}}}};
  if (!result.plan) {
    object["time"] = nullptr;
    return object;
  }
  object["time"] = result.time;
  object["gap"] = result.getGap();
  writeTables(problem, *result.plan, object);
  writeEvaluation(problem, evaluate(problem, *result.plan), object);
  return object;
}

} // namespace mf::solver
