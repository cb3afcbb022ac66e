//===- TrainerTape.h - What a trainer holds for a chunk ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_TRAINER_TRAINERTAPE_H
#define MF_PASSES_TRAINER_TRAINERTAPE_H

#include "dialects/mf/DiscardableAttributes.h"
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

/// Returns how a parameter is shared out if ranks manage the parameter but cut
/// nothing of it, such as experts of which each rank has its own. Ranks copy
/// such a weight where they would gather it.
std::optional<ir::ParameterSharing> findWholeSharing(ir::ParamOp param);

} // namespace mf::passes

#endif // MF_PASSES_TRAINER_TRAINERTAPE_H
