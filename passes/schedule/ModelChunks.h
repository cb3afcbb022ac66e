//===- ModelChunks.h - The chunks of a model as a pipeline -----*- C++ -*-===//
//
// The functions of each chunk, in the order in which a micro-batch passes
// through the chunks, and where they live: read from the placements in the IR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_SCHEDULE_MODELCHUNKS_H
#define MF_PASSES_SCHEDULE_MODELCHUNKS_H

#include "dialects/mf/MfOps.h"
#include "mf/Pipeline/Schedule.h"

namespace mf::passes {

/// The functions of one chunk.
struct ChunkFunctions {
  ir::ForwardOp forward;
  /// Null where nothing is recomputed, or in backward.
  ir::RecomputeOp recompute;
  /// Null in chunks below all that is trained.
  ir::BackwardOp backward;
  /// The backward of weights; null unless backward is split.
  ir::BackwardWeightsOp weights;

  /// The numbers of forward's arguments that are hidden inputs, but for those
  /// that earlier pieces of the sequence give, which are the last arguments.
  llvm::SmallVector<int64_t> getHiddenArguments();
  /// How many outputs the next chunk takes; the others are losses, and what
  /// later pieces of the sequence take.
  int64_t countHiddenOutputs();
  /// The function of a phase.
  mlir::Operation *getFunction(schedule::Phase phase) const;
};

/// All chunks of a model.
struct ModelChunks {
  /// In the order of execution, which is that of the forward functions: all
  /// chunks for the first piece of the sequence, then for the next.
  std::vector<ChunkFunctions> chunks;
  schedule::Pipeline pipeline;

  /// The functions that run a task.
  ChunkFunctions &get(const schedule::Task &task) {
    return chunks[task.piece * pipeline.getNumChunks() + task.chunk];
  }

  /// The last chunk has a backward in any case.
  bool splitsBackward() const {
    return !chunks.empty() && chunks.back().weights;
  }
  int64_t getStage(int64_t chunk) const { return pipeline.stageOfChunk[chunk]; }
};

/// Reads the chunks of `model`, which has a training configuration. It is an
/// error if a placement is taken twice or is of no stage, if a function misses
/// its siblings or does not fit them, or if a chunk's inputs are not the
/// outputs of the one before. Whether each stage has a chunk is not checked.
mlir::FailureOr<ModelChunks> readChunks(ir::ModelOp model);

} // namespace mf::passes

#endif // MF_PASSES_SCHEDULE_MODELCHUNKS_H
