//===- AscendChain.cpp - Kernels of a chain -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/ascend/AscendDialect.h"
#include "dialects/ascend/KernelSpecs.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mf;
using namespace mf::ascend;

std::optional<std::vector<FusedKernel>>
FusedKernelsAttr::getFusedKernels() const {
  std::vector<FusedKernel> fused;
  for (auto [kernel, operands, attributes, type] : llvm::zip_equal(
           getKernels(), getOperands(), getAttributes(), getTypes())) {
    std::optional<AttributeMap> map = getAttributeMap(attributes);
    std::optional<TensorShape> result = getTensorShape(type);
    if (!map || !result)
      return std::nullopt;
    fused.push_back({kernel.str(), operands.asArrayRef().vec(),
                     std::move(*result), std::move(*map)});
  }
  return fused;
}

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

/// Parses "in3" as 3 and "t3" as ~3.
static ParseResult parseOperand(AsmParser &parser,
                                SmallVectorImpl<int64_t> &operands) {
  StringRef name;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseKeyword(&name))
    return failure();
  StringRef number = name;
  const bool isInput = number.consume_front("in");
  int64_t index = 0;
  if ((!isInput && !number.consume_front("t")) ||
      number.getAsInteger(10, index) || index < 0)
    return parser.emitError(location,
                            "expected an input of the launch, as in0, "
                            "or the result of a fused kernel, as t0");
  operands.push_back(isInput ? index : ~index);
  return success();
}

Attribute FusedKernelsAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> kernels;
  SmallVector<DenseI64ArrayAttr> operands;
  SmallVector<DictionaryAttr> attributes;
  SmallVector<RankedTensorType> types;
  SMLoc location = parser.getCurrentLocation();
  auto parseKernel = [&]() -> ParseResult {
    StringRef kernel;
    SmallVector<int64_t> read;
    NamedAttrList named;
    if (parser.parseKeyword(&kernel) ||
        parser.parseCommaSeparatedList(
            AsmParser::Delimiter::Paren,
            [&] { return parseOperand(parser, read); }) ||
        parser.parseOptionalAttrDict(named) || parser.parseColon() ||
        parser.parseType(types.emplace_back()))
      return failure();
    kernels.push_back(StringAttr::get(parser.getContext(), kernel));
    operands.push_back(DenseI64ArrayAttr::get(parser.getContext(), read));
    attributes.push_back(named.getDictionary(parser.getContext()));
    return success();
  };
  if (parser.parseLess() || parser.parseCommaSeparatedList(parseKernel) ||
      parser.parseGreater())
    return {};
  auto report = [&] { return parser.emitError(location); };
  function_ref<InFlightDiagnostic()> emitError = report;
  return FusedKernelsAttr::getChecked(
      emitError, parser.getContext(), ArrayRef<StringAttr>(kernels),
      ArrayRef<DenseI64ArrayAttr>(operands),
      ArrayRef<DictionaryAttr>(attributes), ArrayRef<RankedTensorType>(types));
}

void FusedKernelsAttr::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleaveComma(
      llvm::zip_equal(getKernels(), getOperands(), getAttributes(), getTypes()),
      printer, [&](const auto &fused) {
        const auto &[kernel, operands, attributes, type] = fused;
        printer << kernel.getValue() << '(';
        llvm::interleaveComma(operands.asArrayRef(), printer,
                              [&](int64_t operand) {
                                if (operand < 0)
                                  printer << 't' << ~operand;
                                else
                                  printer << "in" << operand;
                              });
        printer << ')';
        if (!attributes.empty())
          printer << ' ' << Attribute(attributes);
        printer << " : " << type;
      });
  printer << '>';
}

LogicalResult FusedKernelsAttr::verify(
    function_ref<InFlightDiagnostic()> emitError, ArrayRef<StringAttr> kernels,
    ArrayRef<DenseI64ArrayAttr> operands, ArrayRef<DictionaryAttr> attributes,
    ArrayRef<RankedTensorType> types) {
  if (operands.size() != kernels.size() ||
      attributes.size() != kernels.size() || types.size() != kernels.size())
    return emitError() << "expected as many operands, attributes and types as "
                          "kernels";
  for (RankedTensorType type : types)
    if (!type.hasStaticShape())
      return emitError() << "expected results of static shape, but got "
                         << type;
  return success();
}
