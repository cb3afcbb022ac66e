//===- MfModelSource.cpp - The keys that a model was made from ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/ModelSource.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

LogicalResult mf::ir::ModelSource::verify(Operation *op, Attribute value) {
  if (!isa<ModuleOp>(op))
    return op->emitOpError("has ")
           << attributeName << "; expected it on the module";
  const auto keys = dyn_cast<DictionaryAttr>(value);
  if (!keys || !llvm::all_of(keys, [](NamedAttribute key) {
        return isa<StringAttr>(key.getValue());
      }))
    return op->emitOpError("expected a dictionary of strings as ")
           << attributeName << ", but got " << value;
  return success();
}
