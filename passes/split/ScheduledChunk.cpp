//===- ScheduledChunk.cpp - A chunk in its pipeline -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/split/ScheduledChunk.h"

using namespace mf;
using namespace mf::ir;
using mf::passes::ScheduledChunk;

bool ScheduledChunk::recomputesSome() const {
  schedule::Pipeline chosen = pipeline;
  policy->chooseRecompute(chosen);
  bool some = false, all = true;
  for (int64_t run = 0; run < pipeline.microBatches; ++run) {
    some |= chosen.recomputes(number, run);
    all &= chosen.recomputes(number, run);
  }
  return some && !all;
}

mlir::FailureOr<std::optional<ScheduledChunk>>
mf::passes::findScheduledChunk(ir::ChunkOp chunk) {
  TrainingAttr training = chunk->getParentOfType<ModelOp>().getTrainingAttr();
  if (!training)
    return std::optional<ScheduledChunk>();
  ParallelAttr parallel = training.getParallel();
  llvm::Expected<const schedule::Policy *> policy =
      schedule::findPolicy(parallel.getScheduler());
  if (!policy)
    return chunk.emitOpError() << llvm::toString(policy.takeError());
  ScheduledChunk result;
  result.policy = *policy;
  result.pipeline =
      (*policy)->place(parallel.getStages(), parallel.getInterleave(),
                       parallel.getMicroBatches());
  const std::vector<std::vector<int32_t>> chunks =
      result.pipeline.getChunksOfStages();
  PlacementAttr placement = chunk.getPlacement();
  const auto stage = static_cast<size_t>(placement.getStage());
  const auto number = static_cast<size_t>(placement.getChunk());
  if (stage >= chunks.size() || number >= chunks[stage].size())
    return chunk.emitOpError("is not in the schedule of ")
           << parallel.getStages() << " stages with "
           << parallel.getInterleave() << " chunks each";
  result.number = chunks[stage][number];
  return std::optional(std::move(result));
}
