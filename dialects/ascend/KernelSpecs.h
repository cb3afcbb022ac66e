//===- KernelSpecs.h - Specifications of kernels from IR --------*- C++ -*-===//
//
// Converts MLIR's types and attributes to those of a kernel's signature. Both
// dialects use it; it knows neither.
//
//===----------------------------------------------------------------------===//

#ifndef MF_DIALECTS_ASCEND_KERNELSPECS_H
#define MF_DIALECTS_ASCEND_KERNELSPECS_H

#include "mf/Program/Signatures/KernelSignature.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mf {

/// The element type and shape of a tensor of static shape, or none if no kernel
/// computes with such elements.
std::optional<TensorShape> getTensorShape(mlir::RankedTensorType type);

/// The type of a kernel's attribute, or none if kernels have no such
/// attributes.
std::optional<AttributeKind> getAttributeKind(mlir::Attribute attribute);

/// The attributes that a dictionary gives a kernel, or none if kernels have no
/// such attributes.
std::optional<AttributeMap> getAttributeMap(mlir::DictionaryAttr attributes);

/// The specification of a kernel, or none if there are types or attributes that
/// no kernel has.
std::optional<KernelSpec>
getKernelSpec(llvm::StringRef name,
              llvm::ArrayRef<mlir::RankedTensorType> inputs,
              llvm::ArrayRef<mlir::RankedTensorType> outputs,
              mlir::DictionaryAttr attributes);

} // namespace mf

#endif // MF_DIALECTS_ASCEND_KERNELSPECS_H
