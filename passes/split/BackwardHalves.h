//===- BackwardHalves.h - Deals operators to halves of backward -*- C++ -*-===//

#ifndef MF_PASSES_SPLIT_BACKWARDHALVES_H
#define MF_PASSES_SPLIT_BACKWARDHALVES_H

#include "passes/split/FreeValues.h"

namespace mf::passes {

/// The first half is all of backward unless that is split. Operators that
/// recompute and wait for no gradient may be a part of their own, before both.
enum class Half : uint8_t { Backward, Weights, Recompute };

/// The values that the operators of a half read from outside of it, each in the
/// chunk's order.
struct HalfReads {
  llvm::SmallVector<mlir::Value> outputGradients;
  llvm::SmallVector<mlir::BlockArgument> arguments;
  /// Values of forward: those that later pieces of the sequence read too, and
  /// the others.
  llvm::SmallVector<mlir::Value> outputs, residuals;
  /// Values of the recompute part.
  llvm::SmallVector<mlir::Value> recomputed;
  /// Values of the other half.
  llvm::SmallVector<mlir::Value> kept;
};

/// The order that a barrier asks for ties nothing to a half: operators that it
/// waits for may run in the other.
mlir::ValueRange getDataOperands(mlir::Operation *op);

/// Deals the operators behind a chunk's cut to the halves of backward.
class BackwardHalves {
public:
  BackwardHalves(ir::ChunkOp chunk, bool splitsBackward,
                 bool separatesRecompute = false);

  /// The operators of a half, in order.
  llvm::SmallVector<mlir::Operation *> getOperators(Half half);
  /// The half that makes a value; the first for a value that no half makes,
  /// such as an argument.
  Half getHalf(mlir::Value value) const {
    mlir::Operation *op = value.getDefiningOp();
    return weights.contains(op)     ? Half::Weights
           : recompute.contains(op) ? Half::Recompute
                                    : Half::Backward;
  }
  bool hasRecompute() const { return !recompute.empty(); }
  /// `results` are values of the half that others read.
  HalfReads findReads(Half half, llvm::ArrayRef<mlir::Value> results = {});
  /// The chunk's results that a half makes.
  llvm::SmallVector<mlir::Value> getReturned(Half half);
  /// Results of operators by their places in the chunk.
  void sortInOrder(llvm::SmallVectorImpl<mlir::Value> &values) const;

private:
  using Operators = llvm::DenseSet<mlir::Operation *>;

  void assign(bool splitsBackward);
  void separateRecompute();
  std::vector<bool> findWeightHalf();
  void dropUnread();
  bool isMadeAgain(mlir::Operation *op);
  void visit(mlir::Value value, Half half, llvm::DenseSet<mlir::Value> &visited,
             HalfReads &reads);
  Operators &get(Half half) {
    return half == Half::Weights     ? weights
           : half == Half::Recompute ? recompute
                                     : backward;
  }

  ir::ChunkOp chunk;
  ir::CutOp cut;
  FreeValues freeValues;
  llvm::DenseMap<mlir::Operation *, unsigned> order;
  llvm::SmallVector<mlir::Operation *> behindCut;
  Operators forward, backward, weights, recompute;
};

} // namespace mf::passes

#endif // MF_PASSES_SPLIT_BACKWARDHALVES_H
