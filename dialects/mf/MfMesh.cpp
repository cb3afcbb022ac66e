//===- MfMesh.cpp - The ranks of a training step --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/MfDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mf::ir;

/// This is more than any cluster has, and small enough that products of sizes
/// do not overflow.
static constexpr int64_t maximumRanks = int64_t(1) << 24;

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> axes;
  SmallVector<int64_t> sizes;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(
          AsmParser::Delimiter::LessGreater, [&]() -> ParseResult {
            StringRef axis;
            if (parser.parseKeyword(&axis) || parser.parseEqual() ||
                parser.parseInteger(sizes.emplace_back()))
              return failure();
            axes.push_back(StringAttr::get(parser.getContext(), axis));
            return success();
          }))
    return {};
  auto report = [&] { return parser.emitError(location); };
  function_ref<InFlightDiagnostic()> emitError = report;
  return MeshAttr::getChecked(emitError, parser.getContext(),
                              ArrayRef<StringAttr>(axes),
                              ArrayRef<int64_t>(sizes));
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleaveComma(
      llvm::zip(getAxes(), getSizes()), printer, [&](auto axis) {
        printer << std::get<0>(axis).getValue() << " = " << std::get<1>(axis);
      });
  printer << '>';
}

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<StringAttr> axes,
                               ArrayRef<int64_t> sizes) {
  if (axes.size() != sizes.size() || axes.empty() ||
      axes.front().getValue() != "pp")
    return emitError() << "expected 'pp', the pipeline stages, as first axis";
  int64_t ranks = 1;
  for (auto [index, axis] : llvm::enumerate(axes)) {
    if (llvm::is_contained(axes.take_front(index), axis))
      return emitError() << "has two axes '" << axis.getValue() << "'";
    if (sizes[index] < 1 || sizes[index] > maximumRanks / ranks)
      return emitError() << "expected axes of at least 1 and at most "
                         << maximumRanks << " ranks in all, but got "
                         << axis.getValue() << " = " << sizes[index];
    ranks *= sizes[index];
  }
  return success();
}

MeshAttr MeshAttr::find(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  return module ? module->getAttrOfType<MeshAttr>(attributeName) : MeshAttr();
}

int64_t MeshAttr::getSize(StringRef axis) const {
  for (auto [name, size] : llvm::zip(getAxes(), getSizes()))
    if (name.getValue() == axis)
      return size;
  return 1;
}

int64_t MeshAttr::getNumRanks() const {
  int64_t ranks = 1;
  for (int64_t size : getSizes())
    ranks *= size;
  return ranks;
}
