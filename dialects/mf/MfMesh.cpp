//===- MfMesh.cpp - The ranks of a training step --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/CertificateAttribute.h"
#include "dialects/mf/CollectiveUnit.h"
#include "dialects/mf/Format.h"
#include "dialects/mf/KeptType.h"
#include "dialects/mf/LossPart.h"
#include "dialects/mf/MfDialect.h"
#include "dialects/mf/MfOps.h"
#include "dialects/mf/ModelSource.h"
#include "dialects/mf/ParameterSharing.h"
#include "dialects/mf/SampleOrderAttribute.h"
#include "dialects/mf/TrainerKernel.h"
#include "mf/Support/SampleOrder.h"
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
