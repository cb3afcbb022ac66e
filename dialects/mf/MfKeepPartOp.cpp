//===- MfKeepPartOp.cpp - A value that ranks keep in shards ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/MfOps.h"

using namespace mlir;
using namespace mf::ir;

/// Before mf-localize the type is that of the whole tensor.
LogicalResult KeepPartOp::verify() {
  if (failed(verifyGroup(*this, getAxes())))
    return failure();
  const int64_t size = getGroupSize(*this, getAxes());
  auto type = cast<RankedTensorType>(getType());
  if (type.getRank() > 0 && type.getDimSize(0) % size == 0)
    return success();
  return emitOpError("expected a first dimension of ")
         << size << " equal parts, but got " << type;
}

void KeepPartOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                               ArrayRef<bool> needed,
                               MutableArrayRef<Value> operandGradients) {
  operandGradients[0] = resultGradients[0];
}

Type KeepPartOp::getSavedType() {
  auto type = cast<RankedTensorType>(getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[0] /= getGroupSize(*this, getAxes());
  return type.clone(shape);
}

Value KeepPartOp::save(OpBuilder &builder) {
  auto part = OwnPartOp::create(builder, getLoc(), getSavedType(), getInput(),
                                getAxes(), /*dim=*/0);
  part.setCellName(getCellName());
  return part;
}

Value KeepPartOp::restore(OpBuilder &builder, Value saved) {
  auto whole = AllGatherOp::create(builder, getLoc(), getType(), saved,
                                   getAxes(), /*dim=*/0, /*replicated=*/true);
  whole.setCellName(getCellName());
  return whole;
}
