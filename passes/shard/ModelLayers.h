//===- ModelLayers.h - Input of the layout plan -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_SHARD_MODELLAYERS_H
#define MF_PASSES_SHARD_MODELLAYERS_H

#include "LayoutPlan.h"
#include "LayoutVerifier.h"
#include "dialects/mf/MfOps.h"
#include "llvm/ADT/StringMap.h"
#include <map>

namespace mf::passes {

/// A model in the form of a layout plan's input, with the operations and values
/// that its indices refer to.
struct ModelLayers {
  ShardedModel model;
  llvm::SmallVector<ir::ParamOp> parameters;
  struct Layer {
    ir::LayerOp op;
    llvm::SmallVector<mlir::Value> values;
    llvm::SmallVector<mlir::Operation *> operators;
  };
  std::vector<Layer> layers;

  /// Reads a model, once. Emits an error and fails if an operator has no
  /// sharding rule.
  llvm::LogicalResult read(ir::ModelOp model);

private:
  mlir::SymbolTableCollection symbols;
  EqualOperators equal;
  /// The rules of the groups of equal operators.
  std::vector<ir::ShardingRule> rules;
  llvm::StringMap<unsigned> parameterNumbers;
  /// For each name of a layer, its version for the first piece of the sequence.
  llvm::StringMap<unsigned> firstPieces;
  /// The numbers of tokens, labels and draws by stage and kind: a stage has one
  /// host buffer of each kind, which its chunks load.
  std::map<std::pair<int64_t, ir::InputKind>, unsigned> dataNumbers;

  void addParameters(ir::ModelOp op);
  llvm::LogicalResult addLayer(ir::LayerOp op);
  mlir::FailureOr<ir::ShardingRule> getRule(mlir::Operation *op);
  llvm::SmallVector<unsigned> getData(ir::LayerOp op, unsigned numHidden);
};

} // namespace mf::passes

#endif // MF_PASSES_SHARD_MODELLAYERS_H
