//===- KernelSpecs.cpp - Specifications of kernels from IR ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/ascend/KernelSpecs.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace mf {

static std::optional<DType> getElementType(Type type) {
  if (type.isF32())
    return DType::F32;
  if (type.isBF16())
    return DType::BF16;
  if (type.isF16())
    return DType::F16;
  if (type.isInteger(32))
    return DType::I32;
  if (type.isInteger(64))
    return DType::I64;
  if (type.isInteger(1))
    return DType::I1;
  return std::nullopt;
}

std::optional<TensorShape> getTensorShape(RankedTensorType type) {
  std::optional<DType> element = getElementType(type.getElementType());
  if (!element || !type.hasStaticShape())
    return std::nullopt;
  return TensorShape{*element, llvm::to_vector<4>(type.getShape())};
}

static bool isInteger(Attribute attribute) {
  auto integer = dyn_cast<IntegerAttr>(attribute);
  return integer && integer.getValue().getSignificantBits() <= 64;
}

std::optional<AttributeKind> getAttributeKind(Attribute attribute) {
  if (isa<BoolAttr>(attribute))
    return AttributeKind::Bool;
  if (isInteger(attribute))
    return AttributeKind::Int;
  if (isa<FloatAttr>(attribute))
    return AttributeKind::Double;
  if (isa<DenseI64ArrayAttr>(attribute))
    return AttributeKind::Ints;
  if (isa<DenseF64ArrayAttr>(attribute))
    return AttributeKind::Doubles;
  auto list = dyn_cast<ArrayAttr>(attribute);
  if (list && llvm::all_of(list, isInteger))
    return AttributeKind::Ints;
  return std::nullopt;
}

/// Converts an attribute for which getAttributeKind returns a kind.
static AttributeValue getAttributeValue(Attribute attribute) {
  using Result = AttributeValue;
  auto getInteger = [](Attribute integer) {
    return cast<IntegerAttr>(integer).getValue().getSExtValue();
  };
  return llvm::TypeSwitch<Attribute, Result>(attribute)
      .Case([](BoolAttr value) -> Result { return value.getValue(); })
      .Case([&](IntegerAttr value) -> Result { return getInteger(value); })
      .Case([](FloatAttr value) -> Result { return value.getValueAsDouble(); })
      .Case([](DenseI64ArrayAttr value) -> Result {
        return value.asArrayRef().vec();
      })
      .Case([](DenseF64ArrayAttr value) -> Result {
        return value.asArrayRef().vec();
      })
      .Case([&](ArrayAttr value) -> Result {
        std::vector<int64_t> integers;
        for (Attribute element : value)
          integers.push_back(getInteger(element));
        return integers;
      });
}

std::optional<AttributeMap> getAttributeMap(DictionaryAttr attributes) {
  AttributeMap map;
  for (NamedAttribute named : attributes) {
    if (!getAttributeKind(named.getValue()))
      return std::nullopt;
    map.emplace(named.getName().str(), getAttributeValue(named.getValue()));
  }
  return map;
}

static bool appendShapes(ArrayRef<RankedTensorType> types,
                         SmallVectorImpl<TensorShape> &shapes) {
  for (RankedTensorType type : types) {
    std::optional<TensorShape> shape = getTensorShape(type);
    if (!shape)
      return false;
    shapes.push_back(std::move(*shape));
  }
  return true;
}

std::optional<KernelSpec> getKernelSpec(llvm::StringRef name,
                                        ArrayRef<RankedTensorType> inputs,
                                        ArrayRef<RankedTensorType> outputs,
                                        DictionaryAttr attributes) {
  KernelSpec spec;
  spec.name = name.str();
  std::optional<AttributeMap> map = getAttributeMap(attributes);
  if (!map || !appendShapes(inputs, spec.inputs) ||
      !appendShapes(outputs, spec.outputs))
    return std::nullopt;
  spec.attributes = std::move(*map);
  return spec;
}

} // namespace mf
