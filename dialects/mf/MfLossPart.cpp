//===- MfLossPart.cpp - The losses that a step adds up --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/LossPart.h"

using namespace mlir;
using namespace mf::ir;

SmallVector<LossPart> mf::ir::findLossParts(Operation *function) {
  SmallVector<LossPart> parts;
  if (auto list = function->getAttrOfType<ArrayAttr>(LossPart::attributeName))
    for (auto part : list.getAsRange<ArrayAttr>())
      parts.push_back({cast<StringAttr>(part[0]), cast<FloatAttr>(part[1])});
  return parts;
}

void mf::ir::setLossParts(Operation *function, ArrayRef<LossPart> parts) {
  if (llvm::all_of(parts,
                   [](const LossPart &part) { return part.name.empty(); }))
    return;
  Builder builder(function->getContext());
  function->setAttr(LossPart::attributeName,
                    builder.getArrayAttr(llvm::map_to_vector(
                        parts, [&](const LossPart &part) -> Attribute {
                          return builder.getArrayAttr({part.name, part.unit});
                        })));
}

/// Returns how many losses a function returns; none if it is not one of a
/// model.
static std::optional<int64_t> countLosses(Operation *op) {
  if (auto layer = dyn_cast<LayerOp>(op))
    return llvm::count_if(layer.getResultTypes().drop_back(layer.getFuture()),
                          isLoss);
  if (auto forward = dyn_cast<ForwardOp>(op))
    return llvm::count_if(
        forward.getOutputTypes().drop_back(forward.getFuture()), isLoss);
  // Its cut may not be verified yet.
  if (isa<ChunkOp>(op))
    return findLossParts(op).size();
  return std::nullopt;
}

LogicalResult mf::ir::verifyLossParts(Operation *op, Attribute value) {
  auto list = dyn_cast<ArrayAttr>(value);
  const bool isList =
      list && llvm::all_of(list, [](Attribute entry) {
        auto part = dyn_cast<ArrayAttr>(entry);
        auto unit = part && part.size() == 2 ? dyn_cast<FloatAttr>(part[1])
                                             : FloatAttr();
        return unit && isa<StringAttr>(part[0]) && unit.getValueAsDouble() > 0;
      });
  if (!isList)
    return op->emitOpError("expected a list of names and units above 0 such as "
                           "[\"lm_loss\", 1.0] as ")
           << LossPart::attributeName << ", but got " << value;
  const std::optional<int64_t> losses = countLosses(op);
  if (!losses)
    return op->emitOpError("has ")
           << LossPart::attributeName
           << "; expected it on a layer, a chunk or a forward function";
  if (*losses != static_cast<int64_t>(list.size()))
    return op->emitOpError("expected one of ")
           << LossPart::attributeName << " for each of its " << *losses
           << " losses, but got " << list.size();
  return success();
}

SmallVector<LossPart> mf::ir::getLossParts(ModelOp model, int64_t stage) {
  SmallVector<LossPart> parts;
  for (auto forward : model.getBody().getOps<ForwardOp>())
    if (forward.getPlacement().getStage() == stage)
      for (const LossPart &part : findLossParts(forward))
        if (!part.name.empty() &&
            llvm::none_of(parts, [&](const LossPart &known) {
              return known.name == part.name;
            }))
          parts.push_back(part);
  return parts;
}
