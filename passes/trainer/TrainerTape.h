//===- TrainerTape.h - What a trainer holds for a chunk ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_TRAINER_TRAINERTAPE_H
#define MF_PASSES_TRAINER_TRAINERTAPE_H

#include "dialects/mf/MfOps.h"
#include "mf/Program/TrainerMemory.h"

namespace mf::passes {

/// The layers of a chunk, in order, and its place in the model.
struct TapedChunk {
  llvm::SmallVector<ir::LayerOp> layers;
  /// Whether gradients flow through the inputs of the chunk.
  bool hasInputGradient = false;
  /// Whether another chunk reads the output.
  bool hasReader = false;
};

/// Returns the memory of a run of a chunk. The layers are those of one rank.
/// Each operator says what the trainer keeps of it (ir::Tape); weights come and
/// go as fully sharded data parallelism has it.
trainer::ChunkMemory tapeChunk(ir::ModelOp model, const TapedChunk &chunk);

/// Returns the bytes of the triangle from which the trainer makes masks of
/// whole sequences, and which it keeps for good; 0 if masks are compressed.
int64_t getLastingMaskBytes(ir::ModelOp model);

} // namespace mf::passes

#endif // MF_PASSES_TRAINER_TRAINERTAPE_H
