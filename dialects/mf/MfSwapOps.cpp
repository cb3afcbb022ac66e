//===- MfSwapOps.cpp - Activations that leave the device ------------------===//

#include "dialects/mf/MfOps.h"
#include "dialects/mf/SwapMark.h"

using namespace mlir;
using namespace mf::ir;

static constexpr StringLiteral markName = "mf.swap";

std::optional<int64_t> mf::ir::getSwapMark(Operation *op) {
  if (auto mark = op->getAttrOfType<IntegerAttr>(markName))
    return mark.getInt();
  return std::nullopt;
}

void mf::ir::setSwapMark(Operation *op, std::optional<int64_t> distance) {
  if (distance)
    op->setAttr(markName,
                Builder(op->getContext()).getI64IntegerAttr(*distance));
  else
    op->removeAttr(markName);
}

LogicalResult mf::ir::verifySwapDistance(Operation *op, int64_t distance) {
  if (distance >= 1 && distance <= maximumSwapDistance)
    return success();
  return op->emitOpError("expected a distance from 1 to ")
         << maximumSwapDistance << " kernels, but got " << distance;
}

LogicalResult MfDialect::verifyOperationAttribute(Operation *op,
                                                  NamedAttribute attribute) {
  if (attribute.getName() == MeshAttr::attributeName)
    return verifyMesh(op, attribute.getValue());
  if (attribute.getName() != markName)
    return op->emitOpError("has the unknown attribute ") << attribute.getName();
  auto distance = dyn_cast<IntegerAttr>(attribute.getValue());
  if (!distance || !distance.getType().isInteger(64))
    return op->emitOpError("expected a number of kernels in ")
           << markName << ", but got " << attribute.getValue();
  return verifySwapDistance(op, distance.getInt());
}
