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

/// A block of the trainer's allocator.
struct TapedBlock {
  int64_t bytes = 0;
  /// The operators of forward that make the block and that read it last.
  int64_t first = 0, last = 0;
  /// The last operator of forward that reads the block or a part of it, at
  /// whose backward its gradient begins; -1 without one.
  int64_t lastReader = -1;
  /// The operators whose backward reads the block.
  llvm::SmallVector<int64_t, 2> keepers;
  bool hasGradient = false;
  /// Whether the block is in host memory between forward and backward.
  bool isSwapped = false;
};

/// A layer's operators, and the bytes of the weights that are gathered for it:
/// those that are freed after it, and those that stay until its backward.
struct TapedLayer {
  ir::LayerOp layer;
  int64_t begin = 0, end = 0;
  int64_t freed = 0, kept = 0;
};

/// An operator that reads a weight, whose gradient its backward makes.
struct WeightRead {
  int64_t operation = 0;
  ir::ParamOp param;
  int64_t bytes = 0;
  bool isNarrow = false;
};

/// Bytes beside those of blocks, at a moment of an operator.
struct TapedMoment {
  int64_t operation = 0;
  bool isBackward = false;
  std::string name;
  trainer::Bytes bytes;
};

/// Operators of a layer that the trainer computes in its own way, at the last
/// one of them.
struct TapedKernel {
  ir::TrainerKernel kernel;
  llvm::SmallVector<mlir::Operation *> operations;
};

/// Operators that run again one after another before their backward.
struct RecomputedRun {
  int64_t first = 0, last = 0;
};

/// What a trainer records of the forward of a chunk.
struct TapedForward {
  explicit TapedForward(ir::ModelOp model) : model(model) {}

  /// Returns the path of an operator or of its kernel in the tree of Cells.
  std::string getName(int64_t operation) const;
  /// Returns the kernel that the operator is a part of, or null.
  const TapedKernel *findKernel(int64_t operation) const {
    auto it = kernelOf.find(operations[operation]);
    return it == kernelOf.end() ? nullptr : &kernels[it->second];
  }

  ir::ModelOp model;
  llvm::SmallVector<mlir::Operation *> operations;
  llvm::SmallVector<TapedLayer> layers;
  std::vector<TapedKernel> kernels;
  llvm::DenseMap<mlir::Operation *, size_t> kernelOf;
  std::vector<TapedBlock> blocks;
  std::vector<TapedMoment> moments;
  std::vector<WeightRead> weightReads;
  /// The run of each operator that runs again, or -1.
  llvm::SmallVector<int64_t> runOf;
  llvm::SmallVector<RecomputedRun> runs;
  /// The bytes of the tables of rotary embedding, and of the largest.
  int64_t rotaryBytes = 0, largestRotaryBytes = 0;
  /// The block of the value that the next chunk reads; -1 without one.
  int64_t outputBlock = -1;
  size_t numInputs = 0;
};

/// Records the forward of a chunk, whose layers are those of one rank.
TapedForward tapeForward(ir::ModelOp model, const TapedChunk &chunk);

} // namespace mf::passes

#endif // MF_PASSES_TRAINER_TRAINERTAPE_H
