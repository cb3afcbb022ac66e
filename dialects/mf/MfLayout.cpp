//===- MfLayout.cpp - Layouts of tensors on ranks -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/MfDialect.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mf::ir;

/// Parses `[dp, mp]`.
static ParseResult parseAxes(AsmParser &parser, ArrayAttr &axes) {
  SmallVector<Attribute> names;
  if (parser.parseCommaSeparatedList(
          AsmParser::Delimiter::Square, [&]() -> ParseResult {
            StringRef name;
            if (parser.parseKeyword(&name))
              return failure();
            names.push_back(parser.getBuilder().getStringAttr(name));
            return success();
          }))
    return failure();
  axes = parser.getBuilder().getArrayAttr(names);
  return success();
}

static void printAxes(AsmPrinter &printer, ArrayAttr axes) {
  printer << '[';
  llvm::interleaveComma(axes.getAsRange<StringAttr>(), printer,
                        [&](StringAttr axis) { printer << axis.getValue(); });
  printer << ']';
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  Builder &builder = parser.getBuilder();
  SmallVector<Attribute> cuts;
  ArrayAttr partial = builder.getArrayAttr({}), reduced = partial;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&]() -> ParseResult {
                                       ArrayAttr axes;
                                       if (parseAxes(parser, axes))
                                         return failure();
                                       cuts.push_back(axes);
                                       return success();
                                     }))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    StringRef keyword;
    SMLoc place = parser.getCurrentLocation();
    if (parser.parseKeyword(&keyword) || parser.parseEqual())
      return {};
    if (keyword != "partial" && keyword != "reduced") {
      parser.emitError(place)
          << "expected 'partial' or 'reduced', but got '" << keyword << "'";
      return {};
    }
    if (parseAxes(parser, keyword == "partial" ? partial : reduced))
      return {};
  }
  if (parser.parseGreater())
    return {};
  auto report = [&] { return parser.emitError(location); };
  function_ref<InFlightDiagnostic()> emitError = report;
  return LayoutAttr::getChecked(emitError, parser.getContext(),
                                builder.getArrayAttr(cuts), partial, reduced);
}

void LayoutAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getCuts().getAsRange<ArrayAttr>(), printer,
                        [&](ArrayAttr axes) { printAxes(printer, axes); });
  printer << ']';
  if (!getPartial().empty()) {
    printer << ", partial = ";
    printAxes(printer, getPartial());
  }
  if (!getReduced().empty()) {
    printer << ", reduced = ";
    printAxes(printer, getReduced());
  }
  printer << '>';
}

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayAttr cuts, ArrayAttr partial,
                                 ArrayAttr reduced) {
  SmallVector<Attribute> seen;
  auto verifyAxes = [&](Attribute group) -> LogicalResult {
    auto axes = dyn_cast<ArrayAttr>(group);
    if (!axes)
      return emitError() << "expected a list of axes, but got " << group;
    for (Attribute axis : axes) {
      if (!isa<StringAttr>(axis))
        return emitError() << "expected the name of an axis, but got " << axis;
      if (llvm::is_contained(seen, axis))
        return emitError() << "has axis " << axis
                           << " twice; expected it to cut one dimension, or to "
                              "be partial, or reduced";
      seen.push_back(axis);
    }
    return success();
  };
  for (Attribute axes : cuts)
    if (failed(verifyAxes(axes)))
      return failure();
  if (failed(verifyAxes(partial)))
    return failure();
  return verifyAxes(reduced);
}

LogicalResult
LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                           function_ref<InFlightDiagnostic()> emitError) const {
  if (getCuts().size() == shape.size())
    return success();
  return emitError() << "expected a list of axes for each of the "
                     << shape.size() << " dimensions, but got "
                     << getCuts().size() << " in " << *this;
}

LayoutAttr LayoutAttr::find(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_if_present<LayoutAttr>(tensor.getEncoding())
                : LayoutAttr();
}
