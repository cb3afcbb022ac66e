//===- LossPart.h - The losses that a step adds up --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_DIALECTS_MF_LOSSPART_H
#define MF_DIALECTS_MF_LOSSPART_H

#include "dialects/mf/MfOps.h"

namespace mf::ir {

/// One of the losses whose sum is the loss of a step. The step reports it apart
/// if it has a name.
struct LossPart {
  /// The attribute of layers, chunks and forward functions with a part for each
  /// loss that they return, in order: `[["lm_loss", 1.0], ["aux_loss", 1.0]]`.
  /// Without it losses have no name.
  static constexpr llvm::StringLiteral attributeName = "mf.losses";

  mlir::StringAttr name;
  /// What 1 of the reported number adds to the loss.
  mlir::FloatAttr unit;
};

/// Returns the parts of a function; empty without the attribute.
llvm::SmallVector<LossPart> findLossParts(mlir::Operation *function);
/// Sets the attribute, unless no part has a name.
void setLossParts(mlir::Operation *function, llvm::ArrayRef<LossPart> parts);
mlir::LogicalResult verifyLossParts(mlir::Operation *op, mlir::Attribute value);

/// Returns the parts with a name of the losses on a stage, each once, in the
/// order of its forward functions.
llvm::SmallVector<LossPart> getLossParts(ModelOp model, int64_t stage);

} // namespace mf::ir

#endif // MF_DIALECTS_MF_LOSSPART_H
