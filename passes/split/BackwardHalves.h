//===- BackwardHalves.h - Operators of the halves of backward ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_SPLIT_BACKWARDHALVES_H
#define MF_PASSES_SPLIT_BACKWARDHALVES_H

#include "dialects/mf/MfOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <vector>

namespace mf::passes {

/// One operator of a chunk's backward half.
struct BackwardOperator {
  /// The indices of the operators of backward whose results it uses. They
  /// precede it.
  llvm::SmallVector<int64_t, 2> producers;
  /// The indices of the chunk's results that are results of this operator. The
  /// first ones are the gradients of hidden inputs.
  llvm::SmallVector<int64_t, 2> returned;
};

/// Returns for each of `operators`, given in program order, whether it only
/// serves gradients of parameters and therefore may wait: no gradient of a
/// hidden input depends on it. In a chunk without hidden inputs, for which no
/// other stage waits, these are the operators on which a single result depends.
/// The chain on which all of them depend, which is as long as that of other
/// chunks, then forms the other half. The result of an operator that may wait
/// is only read by such operators. Takes linear time in operators and uses. The
/// split is that of zero-bubble pipelining (Qi et al., 2024).
std::vector<bool> planWeightHalf(llvm::ArrayRef<BackwardOperator> operators,
                                 int64_t numHiddenInputs);

/// Finds the operators of forward that backward recomputes instead of keeping
/// their results: views, whose memory is their operand's, and values computed
/// from parameters alone, such as the cast of a weight. Parameters keep their
/// values through the whole step, so keeping such values for each micro-batch
/// would only waste memory. A gathered parameter is not free, but values
/// computed from it are.
class FreeValues {
public:
  bool isFree(mlir::Operation *op);

private:
  bool isMadeOfParameters(mlir::Operation *op);

  llvm::DenseMap<mlir::Operation *, bool> madeOfParameters;
};

/// The parts of backward. The first half is all of backward unless that is
/// split. Operators that recompute and wait for no gradient may form a separate
/// part that precedes both halves.
enum class Half : uint8_t { Backward, Weights, Recompute };

/// The values that the operators of a half read from outside of it, each in the
/// chunk's order.
struct HalfReads {
  llvm::SmallVector<mlir::Value> outputGradients;
  llvm::SmallVector<mlir::BlockArgument> arguments;
  /// Values of forward that later pieces of the sequence also read, and the
  /// other values of forward.
  llvm::SmallVector<mlir::Value> outputs, residuals;
  /// Values of the recompute part.
  llvm::SmallVector<mlir::Value> recomputed;
  /// Values of the other half.
  llvm::SmallVector<mlir::Value> kept;
};

/// Returns the operands of an operator that carry data. A barrier only defines
/// an order: the operators that it waits for may run in the other half.
mlir::ValueRange getDataOperands(mlir::Operation *op);

/// Assigns the operators after a chunk's cut to the halves of backward.
class BackwardHalves {
public:
  BackwardHalves(ir::ChunkOp chunk, bool splitsBackward,
                 bool separatesRecompute = false);

  /// Returns the operators of a half, in order.
  llvm::SmallVector<mlir::Operation *> getOperators(Half half);
  /// Returns the half that computes a value. For a value that no half computes,
  /// such as an argument, it is the first half.
  Half getHalf(mlir::Value value) const {
    mlir::Operation *op = value.getDefiningOp();
    return weights.contains(op)     ? Half::Weights
           : recompute.contains(op) ? Half::Recompute
                                    : Half::Backward;
  }
  bool hasRecompute() const { return !recompute.empty(); }
  /// Returns the values that a half reads. `results` are values of the half
  /// that others read.
  HalfReads findReads(Half half, llvm::ArrayRef<mlir::Value> results = {});
  /// Returns the chunk's results that a half computes.
  llvm::SmallVector<mlir::Value> getReturned(Half half);
  /// Sorts results of operators by their position in the chunk.
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
