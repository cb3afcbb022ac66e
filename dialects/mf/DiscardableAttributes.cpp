//===- DiscardableAttributes.cpp - Of modules and operations --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/DiscardableAttributes.h"
#include "dialects/mf/Format.h"
#include "mf/Support/SampleOrder.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace mf::ir;

/// Checks that the value is the name of a known sample order, which defines the
/// rows of the data that a replica reads.
static LogicalResult verifySampleOrder(Operation *op, Attribute value) {
  auto name = dyn_cast<StringAttr>(value);
  if (!name || !mf::parseSampleOrder(name.getValue()))
    return op->emitOpError("expected \"whole\", \"round_robin\" or \"blocks\" "
                           "as mf.sample_order, but got ")
           << value;
  if (!isa<ModuleOp>(op))
    return op->emitOpError(
        "has an order of samples; expected it on the module");
  return success();
}

//===----------------------------------------------------------------------===//
// ParameterSharing
//===----------------------------------------------------------------------===//

std::optional<ParameterSharing> ParameterSharing::find(Operation *param) {
  auto written = param->getAttrOfType<DictionaryAttr>(attributeName);
  if (!written)
    return std::nullopt;
  ParameterSharing sharing;
  for (auto axis : written.getAs<ArrayAttr>("axes").getAsRange<StringAttr>())
    sharing.axes.push_back(axis);
  sharing.gathersAgain = written.getAs<BoolAttr>("gathers_again").getValue();
  sharing.mustDivide = written.getAs<BoolAttr>("must_divide").getValue();
  sharing.dividesGradients =
      written.getAs<BoolAttr>("divides_gradients").getValue();
  return sharing;
}

void ParameterSharing::setOn(Operation *param) const {
  Builder builder(param->getContext());
  param->setAttr(
      attributeName,
      builder.getDictionaryAttr(
          {builder.getNamedAttr("axes", builder.getStrArrayAttr(axes)),
           builder.getNamedAttr("gathers_again",
                                builder.getBoolAttr(gathersAgain)),
           builder.getNamedAttr("must_divide", builder.getBoolAttr(mustDivide)),
           builder.getNamedAttr("divides_gradients",
                                builder.getBoolAttr(dividesGradients))}));
}

LogicalResult ParameterSharing::verify(Operation *op, Attribute value) {
  auto written = dyn_cast<DictionaryAttr>(value);
  auto axes = written ? written.getAs<ArrayAttr>("axes") : ArrayAttr();
  auto isFlag = [&](StringRef name) {
    return static_cast<bool>(written.getAs<BoolAttr>(name));
  };
  if (!axes || !llvm::all_of(axes, llvm::IsaPred<StringAttr>) ||
      !isFlag("gathers_again") || !isFlag("must_divide") ||
      !isFlag("divides_gradients") || written.size() != 4)
    return op->emitOpError("expected {axes = [...], gathers_again = ..., "
                           "must_divide = ..., divides_gradients = ...} as "
                           "mf.sharing, but got ")
           << value;
  if (!isa<ParamOp>(op))
    return op->emitOpError("has a sharing; expected it on an mf.param");
  return success();
}

//===----------------------------------------------------------------------===//
// KeptType
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// CollectiveUnit
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// LossPart
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// TrainerKernel
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// ModelSource
//===----------------------------------------------------------------------===//

LogicalResult ModelSource::verify(Operation *op, Attribute value) {
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

//===----------------------------------------------------------------------===//
// Of any attribute
//===----------------------------------------------------------------------===//

static LogicalResult verifyCertificate(Operation *op, Attribute value) {
  if (!isa<ChunkOp, ForwardOp, UpdateOp>(op))
    return op->emitOpError(
        "has a certificate; expected it on an mf.chunk, mf.forward or "
        "mf.update");
  if (!isa<DictionaryAttr>(value))
    return op->emitOpError("expected a dictionary as mf.computes, but got ")
           << value;
  return success();
}

LogicalResult MfDialect::verifyOperationAttribute(Operation *op,
                                                  NamedAttribute attribute) {
  if (attribute.getName() == sampleOrderAttribute)
    return verifySampleOrder(op, attribute.getValue());
  if (attribute.getName() == ParameterSharing::attributeName)
    return ParameterSharing::verify(op, attribute.getValue());
  if (attribute.getName() == KeptType::attributeName)
    return KeptType::verify(op, attribute.getValue());
  if (attribute.getName() == CollectiveUnit::attributeName)
    return CollectiveUnit::verify(op, attribute.getValue());
  if (attribute.getName() == LossPart::attributeName)
    return verifyLossParts(op, attribute.getValue());
  if (attribute.getName() == TrainerKernel::attributeName)
    return TrainerKernel::verify(op, attribute.getValue());
  if (attribute.getName() == certificateAttribute)
    return verifyCertificate(op, attribute.getValue());
  if (attribute.getName() == ModelSource::attributeName)
    return ModelSource::verify(op, attribute.getValue());
  if (attribute.getName() == formatAttribute)
    return verifyFormat(op, attribute.getValue());
  if (attribute.getName() != MeshAttr::attributeName)
    return op->emitOpError("has the unknown attribute ") << attribute.getName();
  if (!isa<MeshAttr>(attribute.getValue()))
    return op->emitOpError("expected a mesh such as #mf.mesh<pp = 2, dp = 4> "
                           "as mf.mesh, but got ")
           << attribute.getValue();
  if (!isa<ModuleOp>(op))
    return op->emitOpError("has a mesh; expected it on the module");
  return success();
}
