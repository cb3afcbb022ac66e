//===- MfTrainerKernel.cpp - Operators that the trainer has as one --------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/MfOps.h"
#include "dialects/mf/TrainerKernel.h"

using namespace mlir;
using namespace mf::ir;

static constexpr llvm::StringLiteral nameKey = "name",
                                     operandsKey = "keeps_operands",
                                     resultsKey = "keeps_results",
                                     keptKey = "kept", forwardKey = "forward",
                                     backwardKey = "backward";

/// Reads the attribute; none if it has another form.
static std::optional<TrainerKernel> read(Attribute value) {
  auto entries = dyn_cast_or_null<DictionaryAttr>(value);
  if (!entries)
    return std::nullopt;
  TrainerKernel kernel;
  for (NamedAttribute entry : entries) {
    const StringRef key = entry.getName();
    if (key == nameKey) {
      auto name = dyn_cast<StringAttr>(entry.getValue());
      kernel.name = name ? name.getValue() : "";
    } else if (key == operandsKey || key == resultsKey) {
      if (!isa<UnitAttr>(entry.getValue()))
        return std::nullopt;
      (key == operandsKey ? kernel.keepsOperands : kernel.keepsResults) = true;
    } else if (key == keptKey || key == forwardKey || key == backwardKey) {
      auto bytes = dyn_cast<IntegerAttr>(entry.getValue());
      if (!bytes || !bytes.getType().isSignlessInteger(64) ||
          bytes.getInt() < 0)
        return std::nullopt;
      (key == keptKey      ? kernel.keptBytes
       : key == forwardKey ? kernel.forwardBytes
                           : kernel.backwardBytes) = bytes.getInt();
    } else {
      return std::nullopt;
    }
  }
  if (kernel.name.empty())
    return std::nullopt;
  return kernel;
}

std::optional<TrainerKernel> TrainerKernel::find(Operation *op) {
  return read(op->getDiscardableAttr(attributeName));
}

DictionaryAttr TrainerKernel::getAttr(MLIRContext *context) const {
  Builder builder(context);
  NamedAttrList entries;
  entries.set(nameKey, builder.getStringAttr(name));
  if (keepsOperands)
    entries.set(operandsKey, builder.getUnitAttr());
  if (keepsResults)
    entries.set(resultsKey, builder.getUnitAttr());
  entries.set(keptKey, builder.getI64IntegerAttr(keptBytes));
  entries.set(forwardKey, builder.getI64IntegerAttr(forwardBytes));
  entries.set(backwardKey, builder.getI64IntegerAttr(backwardBytes));
  return entries.getDictionary(context);
}

LogicalResult TrainerKernel::verify(Operation *op, Attribute value) {
  if (!isa<ComputeOpInterface>(op))
    return op->emitOpError("has ")
           << attributeName << "; expected it on an operator that computes";
  if (read(value))
    return success();
  return op->emitOpError("expected a kernel such as {name = \"attention\", "
                         "keeps_operands, keeps_results, kept = 512, forward "
                         "= 0, backward = 0}, with bytes of at least 0, as ")
         << attributeName << ", but got " << value;
}
