//===- MfKeptType.cpp - The type in which a weight is kept ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/KeptType.h"
#include "dialects/mf/MfOps.h"

using namespace mlir;
using namespace mf::ir;

Type KeptType::find(Operation *param) {
  auto kept = param->getAttrOfType<TypeAttr>(attributeName);
  return kept ? kept.getValue() : Type();
}

void KeptType::setOn(Operation *param, Type type) {
  param->setAttr(attributeName, TypeAttr::get(type));
}

LogicalResult KeptType::verify(Operation *op, Attribute value) {
  auto param = dyn_cast<ParamOp>(op);
  if (!param)
    return op->emitOpError("has a kept type; expected it on an mf.param");
  auto kept = dyn_cast<TypeAttr>(value);
  Type own = param.getTensorType().getElementType();
  if (!kept || !isa<FloatType>(kept.getValue()) || !isa<FloatType>(own) ||
      kept.getValue().getIntOrFloatBitWidth() > own.getIntOrFloatBitWidth())
    return op->emitOpError("expected a type of floats that is not wider than ")
           << own << " as mf.kept, but got " << value;
  return success();
}
