//===- ScheduledChunk.h - A chunk in its pipeline --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_SPLIT_SCHEDULEDCHUNK_H
#define MF_PASSES_SPLIT_SCHEDULEDCHUNK_H

#include "dialects/mf/MfOps.h"
#include "mf/Pipeline/Policy.h"

namespace mf::passes {

/// A chunk in the schedule of its model.
struct ScheduledChunk {
  const schedule::Policy *policy = nullptr;
  schedule::Pipeline pipeline;
  /// The index among all chunks, in the order of execution.
  int64_t number = 0;

  /// Returns whether the schedule allows the chunk to recompute.
  bool mayRecompute() const { return policy->mayRecompute(pipeline, number); }
  /// Returns whether some of its micro-batches recompute in tasks and others do
  /// not.
  bool recomputesSome() const;
};

/// Returns none if the model has no training attribute, and so no schedule.
/// Emits an error and fails if its schedule is not known, or has no such chunk.
mlir::FailureOr<std::optional<ScheduledChunk>>
findScheduledChunk(ir::ChunkOp chunk);

} // namespace mf::passes

#endif // MF_PASSES_SPLIT_SCHEDULEDCHUNK_H
