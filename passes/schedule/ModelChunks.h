//===- ModelChunks.h - The chunks of a model as a pipeline -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The functions of each chunk, in the order in which a micro-batch passes
// through the chunks, and their stages, as given by the placements in the IR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_SCHEDULE_MODELCHUNKS_H
#define MF_PASSES_SCHEDULE_MODELCHUNKS_H

#include "dialects/mf/MfOps.h"
#include "mf/Pipeline/Schedule.h"

namespace mf::passes {

struct ChunkFunctions {
  ir::ForwardOp forward;
  /// Null if nothing is recomputed, or if backward itself recomputes.
  ir::RecomputeOp recompute;
  /// Null for chunks before the first one with trained parameters.
  ir::BackwardOp backward;
  /// The backward of weights. Null unless backward is split.
  ir::BackwardWeightsOp weights;

  /// Returns the indices of forward's arguments that are hidden inputs, except
  /// for those from earlier pieces of the sequence, which are the last
  /// arguments.
  llvm::SmallVector<int64_t> getHiddenArguments();
  /// Returns the number of outputs that the next chunk takes. The others are
  /// losses and values for later pieces of the sequence.
  int64_t countHiddenOutputs();
  mlir::Operation *getFunction(schedule::Phase phase) const;
};

struct ModelChunks {
  /// The chunks in the order of execution, which is that of the forward
  /// functions: all chunks for the first piece of the sequence, then for the
  /// next one.
  std::vector<ChunkFunctions> chunks;
  /// For each chunk, its version for micro-batches that do not recompute. Its
  /// forward is null if the chunk has no such version.
  std::vector<ChunkFunctions> keeping;
  schedule::Pipeline pipeline;

  /// Returns the functions that run a task. The pipeline determines which
  /// micro-batches recompute.
  ChunkFunctions &get(const schedule::Task &task) {
    const auto number = task.piece * pipeline.getNumChunks() + task.chunk;
    return keeping[number].forward &&
                   !pipeline.recomputes(task.chunk, task.microBatch)
               ? keeping[number]
               : chunks[number];
  }

  /// The last chunk always has a backward.
  bool splitsBackward() const {
    return !chunks.empty() && chunks.back().weights;
  }
  int64_t getStage(int64_t chunk) const { return pipeline.stageOfChunk[chunk]; }
};

/// Reads the chunks of `model`, which must have a training configuration. Fails
/// if a placement occurs twice or has no stage, if a function lacks its
/// siblings or does not match them, or if a chunk's inputs are not the outputs
/// of the previous one. It does not check that each stage has a chunk.
mlir::FailureOr<ModelChunks> readChunks(ir::ModelOp model);

/// Verifies all `mf.schedule`s of a model together: there is one per stage;
/// each run occurs once, on its chunk's stage, after the runs that it reads
/// from; values and messages are passed between the right runs; and no stages
/// wait for one another. Errors name two runs and refer to them in notes.
mlir::LogicalResult verifySchedules(ir::ModelOp model, ModelChunks &chunks);

} // namespace mf::passes

#endif // MF_PASSES_SCHEDULE_MODELCHUNKS_H
