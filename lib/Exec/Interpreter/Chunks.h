//===- Chunks.h - Parts of a model that run one after another --*- C++ -*-===//
//
// Below schedules a model is a chain of chunks at any of three levels: layers,
// joint graphs, or pairs of functions.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_INTERPRETER_CHUNKS_H
#define MF_LIB_INTERPRETER_CHUNKS_H

#include "Rank.h"

namespace mf::interpreter {

/// One part of the chain. Runs of one chunk come in pairs: forward of a
/// micro-batch, then its backward.
class Chunk {
public:
  explicit Chunk(ir::PlacementAttr placement) : placement(placement) {}
  virtual ~Chunk() = default;

  int64_t getStage() const { return placement ? placement.getStage() : 0; }
  /// The piece of the sequence.
  int64_t getPiece() const { return placement ? placement.getPiece() : 0; }
  /// Null where layers have no places yet.
  ir::PlacementAttr getPlacement() const { return placement; }

  virtual mlir::FunctionOpInterface getFunction() = 0;
  /// The types of values for the next chunk, of losses, and of values for later
  /// pieces.
  virtual llvm::SmallVector<mlir::Type> getOutputTypes() = 0;
  /// How many of its last inputs come from earlier pieces, and how many of its
  /// last outputs go to later ones.
  virtual int64_t getNumPast() = 0;
  virtual int64_t getNumFuture() = 0;
  /// `hidden` are the outputs of the chunk before that are no losses, then what
  /// earlier pieces gave. Gives the outputs.
  virtual mlir::FailureOr<llvm::SmallVector<Tensor>>
  runForward(Rank &rank, int64_t microBatch, llvm::ArrayRef<Tensor> hidden) = 0;

  /// Names of the parameters whose gradients backward adds; null if there is
  /// no backward.
  virtual mlir::ArrayAttr getGradients() { return {}; }
  /// Whether backward makes gradients for the chunk before.
  virtual bool hasInputGradients() { return false; }
  /// Gives the gradients of the hidden inputs. `outputGradients` are those of
  /// the outputs, but before those of the values for later pieces, if it has
  /// any, come those of what earlier pieces gave.
  virtual mlir::FailureOr<llvm::SmallVector<Tensor>>
  runBackward(Rank &rank, int64_t microBatch,
              llvm::ArrayRef<Tensor> outputGradients) {
    return mlir::failure();
  }

private:
  ir::PlacementAttr placement;
};

/// The chunks of `model` in the order in which they run, which is that in which
/// they stand. Reports layers of one placement that are no neighbours,
/// functions that share one, and levels that mix.
mlir::FailureOr<std::vector<std::unique_ptr<Chunk>>>
collectChunks(ir::ModelOp model);

/// Whether all chunks have a backward but for those that get no gradients.
bool haveBackward(llvm::ArrayRef<std::unique_ptr<Chunk>> chunks);

/// Runs the rank's part of a step of all chunks: each micro-batch through all
/// of them and, if they have a backward, back.
mlir::LogicalResult runChunks(Rank &rank,
                              llvm::ArrayRef<std::unique_ptr<Chunk>> chunks);

} // namespace mf::interpreter

#endif // MF_LIB_INTERPRETER_CHUNKS_H
