//===- Composition.cpp - Composition of chunks and stages -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Plan/Settings/Composition.h"
#include <algorithm>

using namespace mf;
using namespace mf::planner;

size_t PlanContext::getNumKinds() const {
  size_t count = 0;
  for (const ModelLayer &layer : layers)
    count = std::max(count, layer.kind + 1);
  return count;
}

void PlanContext::treatFollowers(Assignment &assignment) const {
  if (numFollowers == 0)
    return;
  const size_t leaders = layers.size() - numFollowers;
  std::fill(assignment.treatments.begin() +
                static_cast<std::ptrdiff_t>(leaders),
            assignment.treatments.end(), assignment.treatments[leaders - 1]);
}

std::vector<LayerRun> planner::findRuns(const PlanContext &context) {
  const size_t leaders = context.layers.size() - context.numFollowers;
  std::vector<LayerRun> runs;
  for (const auto &[index, layer] : llvm::enumerate(context.layers)) {
    const bool isCut =
        context.numFollowers > 0 && (index + 1 == leaders || index == leaders);
    if (runs.empty() || isCut || runs.back().kind != layer.kind)
      runs.push_back({layer.kind, 0});
    ++runs.back().count;
  }
  return runs;
}

static std::set<size_t> findExtras(size_t chunk, size_t numChunks) {
  std::set<size_t> extras;
  if (chunk == 0)
    extras.insert(0);
  if (chunk + 1 == numChunks)
    extras.insert(1);
  return extras;
}

/// Returns whether no micro-batch of the chunk is recomputed, whatever the
/// settings of its layers are.
static bool keepsAll(const schedule::Pipeline &pipeline, size_t chunk) {
  const auto number = static_cast<int64_t>(chunk);
  if (pipeline.recomputed.empty() || number < pipeline.firstTrained)
    return false;
  for (int64_t run = 0; run < pipeline.microBatches; ++run)
    if (pipeline.recomputes(number, run))
      return false;
  return true;
}

std::vector<Composition> planner::composeChunks(const PlanContext &context,
                                                const Assignment &assignment) {
  std::vector<Composition> chunks(assignment.layersOfChunk.size());
  size_t layer = 0;
  for (size_t chunk = 0; chunk < chunks.size(); ++chunk) {
    chunks[chunk].extras = findExtras(chunk, chunks.size());
    const bool isKept = keepsAll(context.schedule.pipeline, chunk);
    for (int64_t index = 0; index < assignment.layersOfChunk[chunk]; ++index) {
      size_t treatment = assignment.treatments[layer];
      if (isKept && context.treatments[treatment].prefetch == 0)
        treatment = context.treatments.size() - 1;
      ++chunks[chunk].layers[{context.layers[layer].kind, treatment}];
      ++layer;
    }
  }
  return chunks;
}

std::vector<Composition> planner::composeStages(const PlanContext &context,
                                                const Assignment &assignment) {
  const std::vector<Composition> chunks = composeChunks(context, assignment);
  std::vector<Composition> stages(
      static_cast<size_t>(context.schedule.pipeline.stages));
  for (size_t chunk = 0; chunk < chunks.size(); ++chunk) {
    Composition &stage = stages[static_cast<size_t>(
        context.schedule.pipeline.stageOfChunk[chunk])];
    for (const auto &[key, count] : chunks[chunk].layers)
      stage.layers[key] += count;
    stage.extras.insert(chunks[chunk].extras.begin(),
                        chunks[chunk].extras.end());
  }
  return stages;
}

Composition Composition::dropTreatments() const {
  Composition dropped;
  dropped.extras = extras;
  for (const auto &[key, count] : layers)
    dropped.layers[{key.first, 0}] += count;
  return dropped;
}

solver::Plan planner::toPlan(const PlanContext &context,
                             const Assignment &assignment) {
  const std::vector<LayerRun> runs = findRuns(context);
  solver::Plan plan;
  size_t layer = 0, run = 0;
  int64_t inRun = 0;
  for (const int64_t layers : assignment.layersOfChunk) {
    solver::ChunkPlan chunk;
    chunk.counts.assign(runs.size(),
                        std::vector<int64_t>(context.treatments.size()));
    for (int64_t index = 0; index < layers; ++index, ++layer, ++inRun) {
      if (inRun == runs[run].count) {
        ++run;
        inRun = 0;
      }
      ++chunk.counts[run][assignment.treatments[layer]];
    }
    plan.chunks.push_back(std::move(chunk));
  }
  return plan;
}

Assignment planner::toAssignment(const solver::Plan &plan) {
  Assignment assignment;
  for (const solver::ChunkPlan &chunk : plan.chunks) {
    assignment.layersOfChunk.push_back(chunk.getNumLayers());
    for (const std::vector<int64_t> &byTreatment : chunk.counts)
      for (size_t treatment = 0; treatment < byTreatment.size(); ++treatment)
        assignment.treatments.insert(
            assignment.treatments.end(),
            static_cast<size_t>(byTreatment[treatment]), treatment);
  }
  return assignment;
}
