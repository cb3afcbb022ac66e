//===- ProblemJsonResult.cpp - Results as JSON ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ProblemJsonParts.h"
#include "mf/Plan/Solver/ProblemJson.h"
#include "llvm/ADT/STLExtras.h"

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

namespace mf::solver {

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
