//===- BackwardHalves.h - Deals operators to halves of backward -*- C++ -*-===//

#ifndef MF_PASSES_SPLIT_BACKWARDHALVES_H
#define MF_PASSES_SPLIT_BACKWARDHALVES_H

#include "passes/split/FreeValues.h"

namespace mf::passes {

/// The first half is all of backward unless that is split.
enum class Half : uint8_t { Backward, Weights };

/// The values that the operators of a half read from outside of it, each in the
/// chunk's order.
struct HalfReads {
  llvm::SmallVector<mlir::Value> outputGradients;
  llvm::SmallVector<mlir::BlockArgument> arguments;
  /// Values of forward: those that later pieces of the sequence read too, and
  /// the others.
  llvm::SmallVector<mlir::Value> outputs, residuals;
  /// Values of the other half.
  llvm::SmallVector<mlir::Value> kept;
};

/// The order that a barrier asks for ties nothing to a half: operators that it
/// waits for may run in the other.
mlir::ValueRange getDataOperands(mlir::Operation *op);

/// Deals the operators behind a chunk's cut to the halves of backward.
class BackwardHalves {
public:
  BackwardHalves(ir::ChunkOp chunk, bool splitsBackward);

  /// The operators of a half, in order.
  llvm::SmallVector<mlir::Operation *> getOperators(Half half);
  /// The half that makes a value; the first for a value that no half makes,
  /// such as an argument.
  Half getHalf(mlir::Value value) const {
    return weights.contains(value.getDefiningOp()) ? Half::Weights
                                                   : Half::Backward;
  }
  HalfReads findReads(Half half);
  /// The chunk's results that a half makes.
  llvm::SmallVector<mlir::Value> getReturned(Half half);
  /// Results of operators by their places in the chunk.
  void sortInOrder(llvm::SmallVectorImpl<mlir::Value> &values) const;

private:
  using Operators = llvm::DenseSet<mlir::Operation *>;

  void assign(bool splitsBackward);
  std::vector<bool> findWeightHalf();
  void dropUnread();
  bool isMadeAgain(mlir::Operation *op);
  void visit(mlir::Value value, Half half, llvm::DenseSet<mlir::Value> &visited,
             HalfReads &reads);
  Operators &get(Half half) {
    return half == Half::Weights ? weights : backward;
  }

  ir::ChunkOp chunk;
  ir::CutOp cut;
  FreeValues freeValues;
  llvm::DenseMap<mlir::Operation *, unsigned> order;
  llvm::SmallVector<mlir::Operation *> behindCut;
  Operators forward, backward, weights;
};

} // namespace mf::passes

#endif // MF_PASSES_SPLIT_BACKWARDHALVES_H
