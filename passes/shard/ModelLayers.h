//===- ModelLayers.h - A model as the layout plan sees it ------*- C++ -*-===//

#ifndef MF_PASSES_SHARD_MODELLAYERS_H
#define MF_PASSES_SHARD_MODELLAYERS_H

#include "LayoutPlan.h"
#include "dialects/mf/MfOps.h"
#include "llvm/ADT/StringMap.h"

namespace mf::passes {

/// A model, with what its numbers stand for.
struct ModelLayers {
  ShardedModel model;
  llvm::SmallVector<ir::ParamOp> parameters;
  struct Layer {
    ir::LayerOp op;
    llvm::SmallVector<mlir::Value> values;
    llvm::SmallVector<mlir::Operation *> operators;
  };
  std::vector<Layer> layers;

  explicit ModelLayers(ir::ModelOp model);

private:
  mlir::SymbolTableCollection symbols;
  llvm::StringMap<unsigned> parameterNumbers;
  /// By name of a layer, its version for the first piece of the sequence.
  llvm::StringMap<unsigned> firstPieces;

  void addParameters(ir::ModelOp op);
  void addLayer(ir::LayerOp op);
};

} // namespace mf::passes

#endif // MF_PASSES_SHARD_MODELLAYERS_H
