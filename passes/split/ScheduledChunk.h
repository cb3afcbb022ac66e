//===- ScheduledChunk.h - A chunk in its pipeline --------------*- C++ -*-===//

#ifndef MF_PASSES_SPLIT_SCHEDULEDCHUNK_H
#define MF_PASSES_SPLIT_SCHEDULEDCHUNK_H

#include "dialects/mf/MfOps.h"
#include "mf/Pipeline/Policy.h"

namespace mf::passes {

/// What the schedule of a model knows about one of its chunks.
struct ScheduledChunk {
  const schedule::Policy *policy = nullptr;
  schedule::Pipeline pipeline;
  /// Among all chunks, in the order of execution.
  int64_t number = 0;

  /// Whether the schedule lets it recompute.
  bool mayRecompute() const { return policy->mayRecompute(pipeline, number); }
  /// Whether some of its micro-batches recompute in tasks, and others not.
  bool recomputesSome() const;
};

/// Nothing if the model has no training attribute or no known schedule, or if
/// that has no such chunk: errors that later passes report.
std::optional<ScheduledChunk> findScheduledChunk(ir::ChunkOp chunk);

} // namespace mf::passes

#endif // MF_PASSES_SPLIT_SCHEDULEDCHUNK_H
