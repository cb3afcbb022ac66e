//===- ModelSource.h - The keys that a model was made from ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_DIALECTS_MF_MODELSOURCE_H
#define MF_DIALECTS_MF_MODELSOURCE_H

#include "mlir/IR/Operation.h"

namespace mf::ir {

/// The keys of the YAML from which the importer made a model, with their values
/// as text: a dictionary on the module. If the YAML changes, the model is no
/// longer the one that it describes.
struct ModelSource {
  static constexpr llvm::StringLiteral attributeName = "mf.made_from";

  static llvm::LogicalResult verify(mlir::Operation *op, mlir::Attribute value);
};

} // namespace mf::ir

#endif // MF_DIALECTS_MF_MODELSOURCE_H
