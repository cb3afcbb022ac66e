//===- MfCollectiveUnit.cpp - Collectives that are issued together --------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/CollectiveUnit.h"
#include "dialects/mf/MfOps.h"

using namespace mlir;
using namespace mf::ir;

std::optional<int64_t> CollectiveUnit::find(Operation *op) {
  auto unit = op->getAttrOfType<IntegerAttr>(attributeName);
  return unit ? std::optional(unit.getInt()) : std::nullopt;
}

void CollectiveUnit::setOn(Operation *op, int64_t unit) {
  op->setAttr(attributeName, Builder(op).getI64IntegerAttr(unit));
}

void CollectiveUnit::copy(Operation *from, Operation *to) {
  if (std::optional<int64_t> unit = find(from))
    setOn(to, *unit);
}

LogicalResult CollectiveUnit::verify(Operation *op, Attribute value) {
  auto compute = dyn_cast<ComputeOpInterface>(op);
  if (!compute || op->getNumOperands() != 1)
    return op->emitOpError("has a unit; expected it on a collective");
  auto unit = dyn_cast<IntegerAttr>(value);
  if (!unit || unit.getInt() < 0)
    return op->emitOpError("expected a number of at least 0 as mf.unit, but "
                           "got ")
           << value;
  return success();
}
