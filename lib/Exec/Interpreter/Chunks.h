//===- Chunks.h - Parts of a model that run one after another --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Below schedules a model is a chain of chunks at any of three levels: layers,
// joint graphs, or pairs of functions.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_EXEC_INTERPRETER_CHUNKS_H
#define MF_LIB_EXEC_INTERPRETER_CHUNKS_H

#include "Rank.h"

namespace mf::interpreter {

/// One part of the chain. The forward of a chunk for a micro-batch alternates
/// with its backward.
class Chunk {
public:
  explicit Chunk(ir::PlacementAttr placement) : placement(placement) {}
  virtual ~Chunk() = default;

  int64_t getStage() const { return placement ? placement.getStage() : 0; }
  /// Returns the piece of the sequence.
  int64_t getPiece() const { return placement ? placement.getPiece() : 0; }
  /// Returns null if layers have no placement yet.
  ir::PlacementAttr getPlacement() const { return placement; }

  virtual mlir::FunctionOpInterface getFunction() = 0;
  /// Returns the types of values for the next chunk, of losses, and of values
  /// for later pieces.
  virtual llvm::SmallVector<mlir::Type> getOutputTypes() = 0;
  /// Return how many of its last inputs come from earlier pieces, and how many
  /// of its last outputs go to later ones.
  virtual int64_t getNumPast() = 0;
  virtual int64_t getNumFuture() = 0;
  /// Runs forward and returns the outputs. `hidden` are the outputs of the
  /// previous chunk without losses, followed by the values from earlier pieces.
  virtual mlir::FailureOr<llvm::SmallVector<Tensor>>
  runForward(Rank &rank, int64_t microBatch, llvm::ArrayRef<Tensor> hidden) = 0;

  /// Returns the names of the parameters to whose gradients backward adds; null
  /// if there is no backward.
  virtual mlir::ArrayAttr getGradients() { return {}; }
  /// Returns whether backward computes gradients for the previous chunk.
  virtual bool hasInputGradients() { return false; }
  /// Runs backward and returns the gradients of the hidden inputs.
  /// `outputGradients` are those of the outputs. If there are values for later
  /// pieces, the gradients of values from earlier pieces precede theirs.
  virtual mlir::FailureOr<llvm::SmallVector<Tensor>>
  runBackward(Rank &rank, int64_t microBatch,
              llvm::ArrayRef<Tensor> outputGradients) {
    return mlir::failure();
  }

private:
  ir::PlacementAttr placement;
};

/// Returns the chunks of `model` in the order in which they run, which is
/// program order. Reports layers of one placement that are not neighbours,
/// functions that share a placement, and mixed levels.
mlir::FailureOr<std::vector<std::unique_ptr<Chunk>>>
collectChunks(ir::ModelOp model);

/// Returns whether all chunks have a backward, except those that receive no
/// gradients.
bool haveBackward(llvm::ArrayRef<std::unique_ptr<Chunk>> chunks);

/// Runs the rank's part of a step of all chunks: each micro-batch through all
/// of them and, if they have a backward, back.
mlir::LogicalResult runChunks(Rank &rank,
                              llvm::ArrayRef<std::unique_ptr<Chunk>> chunks);

} // namespace mf::interpreter

#endif // MF_LIB_EXEC_INTERPRETER_CHUNKS_H
