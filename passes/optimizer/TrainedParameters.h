//===- TrainedParameters.h - Trained parameters by stage -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_OPTIMIZER_TRAINEDPARAMETERS_H
#define MF_PASSES_OPTIMIZER_TRAINEDPARAMETERS_H

#include "dialects/mf/MfOps.h"
#include "llvm/ADT/MapVector.h"

namespace mf::passes {

/// The placement of trained parameters: the stages whose backward computes
/// their gradients, and their positions in the vector of norms.
struct TrainedParameters {
  llvm::MapVector<int64_t, llvm::SmallVector<ir::ParamOp>> byStage;
  /// The stage of each parameter, by its name.
  llvm::StringMap<int64_t> stages;
  /// The position of each parameter that contributes to the norm. Tied ones do
  /// not.
  llvm::StringMap<int64_t> positions;
  /// The parameters that are tied to each owner, in the model's order.
  struct Tied {
    llvm::SmallVector<mlir::Attribute> names;
    /// The owner's stage, then the stage of each name.
    llvm::SmallVector<int64_t> stages;
  };
  llvm::MapVector<llvm::StringRef, Tied> tied;

  /// Collects the parameters of `model`. Reports a parameter that several
  /// chunks train, and a tied parameter whose owner no chunk trains.
  mlir::LogicalResult build(ir::ModelOp model);

private:
  mlir::LogicalResult groupTied(ir::ModelOp model);
};

} // namespace mf::passes

#endif // MF_PASSES_OPTIMIZER_TRAINEDPARAMETERS_H
