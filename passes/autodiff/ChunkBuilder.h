//===- ChunkBuilder.h - The joint graph of a chunk --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_AUTODIFF_CHUNKBUILDER_H
#define MF_PASSES_AUTODIFF_CHUNKBUILDER_H

#include "GradientBuilder.h"
#include "dialects/mf/LossPart.h"
#include "mlir/IR/IRMapping.h"

namespace mf::passes {

/// The layers of one stage and chunk.
struct ChunkLayers {
  ir::PlacementAttr placement;
  llvm::SmallVector<ir::LayerOp> layers;
};

/// Builds the joint graph of one chunk.
class ChunkBuilder {
public:
  ChunkBuilder(ir::ModelOp model, mlir::SymbolTable &symbols,
               ChunkLayers &source, int64_t index, int64_t firstTrained)
      : model(model), symbols(symbols), source(source), index(index),
        firstTrained(firstTrained), builder(model.getContext()) {
    ir::TrainingAttr training = model.getTrainingAttr();
    hidden.resize(training ? training.getParallel().getCopies() : 1);
    stepInputs.resize(hidden.size());
  }

  mlir::LogicalResult build();

private:
  void addPast();
  void inlineLayer(ir::LayerOp layer);
  void inlineCopy(ir::LayerOp layer, size_t copy, mlir::IRMapping &constants);
  mlir::Value getArgument(ir::LayerOp layer, size_t copy, unsigned argument);
  mlir::Value addInput(ir::LayerOp layer, size_t copy, unsigned argument);
  mlir::LogicalResult checkInputs();
  mlir::Value makeSummand(ir::ParamOp param, mlir::Value gradient);
  int64_t getDivisor(ir::ParamOp param);
  mlir::Value divideByRanks(ir::ParamOp param, mlir::Value sum,
                            llvm::StringRef name);
  mlir::LogicalResult buildBackward();
  void dropMarkers();
  mlir::LogicalResult collectGradients(const GradientBuilder &gradients);
  ir::ChunkOp createChunk();
  void emitRemark(ir::ChunkOp chunk);

  ir::ModelOp model;
  mlir::SymbolTable &symbols;
  ChunkLayers &source;
  /// The index of the chunk, and that of the first chunk with trained weights,
  /// at which gradients end.
  int64_t index, firstTrained;
  mlir::OpBuilder builder;
  std::unique_ptr<mlir::Region> body;
  mlir::Block *block = nullptr;
  /// For each copy of the model, the values that the last inlined layer passes
  /// to the next one.
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> hidden;
  /// Tokens and labels for each copy of the model.
  llvm::SmallVector<llvm::SmallVector<std::pair<ir::InputKind, mlir::Value>, 2>>
      stepInputs;
  /// Operators in such an order that its reverse visits all copies of a layer
  /// one after another, the first copy first.
  llvm::SmallVector<mlir::Operation *> forward;
  llvm::SmallVector<mlir::Value> losses, hiddenInputs;
  /// A part for each of the losses.
  llvm::SmallVector<ir::LossPart> lossParts;
  /// The inputs that have gradients.
  llvm::SmallVector<mlir::Value> gradientInputs;
  /// The values received from earlier pieces of the sequence, ordered by piece,
  /// and the values that this piece passes on.
  llvm::SmallVector<mlir::Value> past, future;
  /// For each layer of the chunk, the index of its first value among those of a
  /// piece.
  llvm::DenseMap<mlir::Operation *, int64_t> firstOfLayer;
  llvm::SmallVector<mlir::Attribute> inputs, inputIndices, gradientNames;
  llvm::SmallVector<std::pair<ir::GetParamOp, ir::ParamOp>> trained;
  /// The number of reads of weights that are not trained, and the size of the
  /// gradients that these would have.
  int64_t numFrozen = 0, frozenBytes = 0;
  llvm::SmallVector<mlir::Value> results;
};

} // namespace mf::passes

#endif // MF_PASSES_AUTODIFF_CHUNKBUILDER_H
