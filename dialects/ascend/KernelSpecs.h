//===- KernelSpecs.h - Specifications of kernels from IR --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Converts MLIR's types and attributes to those of a kernel's signature. Both
// dialects use it, and it depends on neither.
//
//===----------------------------------------------------------------------===//

#ifndef MF_DIALECTS_ASCEND_KERNELSPECS_H
#define MF_DIALECTS_ASCEND_KERNELSPECS_H

#include "mf/Program/Signatures/KernelSignature.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mf {

/// Returns the element type and shape of a tensor of static shape, or none if
/// kernels do not support its element type.
std::optional<TensorShape> getTensorShape(mlir::RankedTensorType type);

/// Returns the type of a kernel's attribute, or none if kernels do not support
/// it.
std::optional<AttributeKind> getAttributeKind(mlir::Attribute attribute);

/// Converts a dictionary to a kernel's attributes, or returns none if kernels
/// do not support one of them.
std::optional<AttributeMap> getAttributeMap(mlir::DictionaryAttr attributes);

/// Returns the specification of a kernel, or none if kernels do not support
/// some type or attribute.
std::optional<KernelSpec>
getKernelSpec(llvm::StringRef name,
              llvm::ArrayRef<mlir::RankedTensorType> inputs,
              llvm::ArrayRef<mlir::RankedTensorType> outputs,
              mlir::DictionaryAttr attributes);

} // namespace mf

#endif // MF_DIALECTS_ASCEND_KERNELSPECS_H
