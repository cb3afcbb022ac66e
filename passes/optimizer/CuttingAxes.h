//===- CuttingAxes.h - Axes that cut a parameter ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_OPTIMIZER_CUTTINGAXES_H
#define MF_PASSES_OPTIMIZER_CUTTINGAXES_H

#include "dialects/mf/MfOps.h"

namespace mf::passes {

/// Returns the axes with more than one rank that cut one of the dimensions
/// `dims` of the stored part of a parameter, in the mesh's order.
inline mlir::ArrayAttr getCuttingAxes(ir::ParamOp param,
                                      llvm::ArrayRef<int64_t> dims) {
  llvm::SmallVector<mlir::Attribute> axes;
  if (ir::LayoutAttr layout = param.getStoredLayout())
    for (auto [axis, size] : ir::MeshSizes(ir::MeshAttr::find(param)).axes) {
      auto name = mlir::StringAttr::get(param.getContext(), axis);
      if (size > 1 && llvm::any_of(dims, [&, &layout = layout](int64_t dim) {
            return llvm::is_contained(
                llvm::cast<mlir::ArrayAttr>(layout.getCuts()[dim]), name);
          }))
        axes.push_back(name);
    }
  return mlir::ArrayAttr::get(param.getContext(), axes);
}

} // namespace mf::passes

#endif // MF_PASSES_OPTIMIZER_CUTTINGAXES_H
