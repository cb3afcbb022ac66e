//===- AscendRanks.cpp - Attributes that name ranks by coordinate ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/ascend/AscendDialect.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mf::ascend;

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

mf::CollectiveKind mf::ascend::getTableKind(CollectiveKind kind) {
  return *llvm::find_if(getCollectiveKinds(), [&](mf::CollectiveKind known) {
    return getName(known) == stringifyCollectiveKind(kind);
  });
}

mf::Reduction mf::ascend::getTableReduction(Reduction reduction) {
  return reduction == Reduction::Sum ? mf::Reduction::Sum : mf::Reduction::Max;
}

mf::ascend::CollectiveKind mf::ascend::getDialectKind(mf::CollectiveKind kind) {
  return *symbolizeCollectiveKind(getName(kind));
}

mf::ascend::Reduction mf::ascend::getDialectReduction(mf::Reduction reduction) {
  return reduction == mf::Reduction::Sum ? Reduction::Sum : Reduction::Max;
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

static ParseResult parseAxis(AsmParser &parser, StringAttr &axis) {
  StringRef name;
  if (parser.parseKeyword(&name))
    return failure();
  axis = StringAttr::get(parser.getContext(), name);
  return success();
}

static ParseResult parseIntegers(AsmParser &parser,
                                 SmallVectorImpl<int64_t> &values) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    return parser.parseInteger(values.emplace_back());
  });
}

//===----------------------------------------------------------------------===//
// GroupAttr: <dp, mp>, <pp stages [0, 2]>
//===----------------------------------------------------------------------===//

Attribute GroupAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> axes;
  SmallVector<int64_t> stages;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseCommaSeparatedList([&] {
        return parseAxis(parser, axes.emplace_back());
      }))
    return {};
  if (succeeded(parser.parseOptionalKeyword("stages")) &&
      parseIntegers(parser, stages))
    return {};
  if (parser.parseGreater())
    return {};
  auto report = [&] { return parser.emitError(location); };
  function_ref<InFlightDiagnostic()> emitError = report;
  return GroupAttr::getChecked(emitError, parser.getContext(),
                               ArrayRef<StringAttr>(axes),
                               ArrayRef<int64_t>(stages));
}

void GroupAttr::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleaveComma(getAxes(), printer,
                        [&](StringAttr axis) { printer << axis.getValue(); });
  if (!getStages().empty()) {
    printer << " stages [";
    llvm::interleaveComma(getStages(), printer);
    printer << ']';
  }
  printer << '>';
}

LogicalResult GroupAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                ArrayRef<StringAttr> axes,
                                ArrayRef<int64_t> stages) {
  for (auto [index, axis] : llvm::enumerate(axes))
    if (llvm::is_contained(axes.take_front(index), axis))
      return emitError() << "expected each axis once, but got '"
                         << axis.getValue() << "' twice";
  for (auto [index, stage] : llvm::enumerate(stages))
    if (stage < 0 || llvm::is_contained(stages.take_front(index), stage))
      return emitError() << "expected different stages, but got " << stage;
  bool hasStages = llvm::any_of(
      axes, [](StringAttr axis) { return axis.getValue() == "pp"; });
  if (!stages.empty() && !hasStages)
    return emitError() << "lists stages, but 'pp' is not one of its axes";
  return success();
}

//===----------------------------------------------------------------------===//
// PeerAttr: <pp = 1>, <cp + 1>, <cp - 1>
//===----------------------------------------------------------------------===//

Attribute PeerAttr::parse(AsmParser &parser, Type) {
  StringAttr axis;
  int64_t coordinate = 0;
  bool relative = false;
  if (parser.parseLess() || parseAxis(parser, axis))
    return {};
  if (succeeded(parser.parseOptionalEqual())) {
    if (parser.parseInteger(coordinate))
      return {};
  } else {
    relative = true;
    if (succeeded(parser.parseOptionalPlus())) {
      if (parser.parseInteger(coordinate))
        return {};
    } else if (parser.parseInteger(coordinate)) {
      return {};
    }
  }
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), axis, coordinate, relative);
}

void PeerAttr::print(AsmPrinter &printer) const {
  printer << '<' << getAxis().getValue();
  if (!getRelative())
    printer << " = " << getCoordinate();
  else if (getCoordinate() >= 0)
    printer << " + " << getCoordinate();
  else
    printer << " - " << -static_cast<uint64_t>(getCoordinate());
  printer << '>';
}

//===----------------------------------------------------------------------===//
// SliceAttr: <[8, 16] over [[mp], []]>
//===----------------------------------------------------------------------===//

Attribute SliceAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> shape;
  SmallVector<ArrayAttr> axes;
  SMLoc location = parser.getCurrentLocation();
  auto parseAxes = [&]() -> ParseResult {
    SmallVector<Attribute> names;
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                       [&]() -> ParseResult {
                                         StringAttr axis;
                                         if (parseAxis(parser, axis))
                                           return failure();
                                         names.push_back(axis);
                                         return success();
                                       }))
      return failure();
    axes.push_back(ArrayAttr::get(parser.getContext(), names));
    return success();
  };
  if (parser.parseLess() || parseIntegers(parser, shape) ||
      parser.parseKeyword("over") ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseAxes) ||
      parser.parseGreater())
    return {};
  auto report = [&] { return parser.emitError(location); };
  function_ref<InFlightDiagnostic()> emitError = report;
  return SliceAttr::getChecked(emitError, parser.getContext(),
                               ArrayRef<int64_t>(shape),
                               ArrayRef<ArrayAttr>(axes));
}

void SliceAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getShape(), printer);
  printer << "] over [";
  llvm::interleaveComma(getAxes(), printer, [&](ArrayAttr axes) {
    printer << '[';
    llvm::interleaveComma(axes.getAsRange<StringAttr>(), printer,
                          [&](StringAttr axis) { printer << axis.getValue(); });
    printer << ']';
  });
  printer << "]>";
}

LogicalResult SliceAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                ArrayRef<int64_t> shape,
                                ArrayRef<ArrayAttr> axes) {
  if (axes.size() != shape.size())
    return emitError() << "expected a list of axes for each of " << shape.size()
                       << " dimensions, but got " << axes.size();
  SmallVector<Attribute> seen;
  for (ArrayAttr list : axes)
    for (Attribute axis : list) {
      if (!isa<StringAttr>(axis))
        return emitError() << "expected names of axes, but got " << axis;
      if (llvm::is_contained(seen, axis))
        return emitError() << "is cut by " << axis << " twice";
      seen.push_back(axis);
    }
  return success();
}
