//===- MfCollectiveOps.cpp - Operators of several ranks -------------------===//

#include "dialects/mf/MfOps.h"
#include "mf/Signatures/KernelSignature.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mf;
using namespace mf::ir;

namespace {

/// The ranks of a group; none if the module has no mesh.
std::optional<int64_t> getGroupSize(Operation *op, ArrayAttr axes) {
  MeshAttr mesh = MeshAttr::find(op);
  if (!mesh)
    return std::nullopt;
  int64_t size = 1;
  for (auto axis : axes.getAsRange<StringAttr>())
    size *= mesh.getSize(axis.getValue());
  return size;
}

bool isBetweenLayouts(Type type, Type other) {
  return LayoutAttr::find(type) || LayoutAttr::find(other);
}

/// Checks that `longer` is as many times `shorter` along dimension `dim` as the
/// group has ranks, or that both are whole and have a layout.
LogicalResult verifyParts(Operation *op, ArrayAttr axes, int64_t dim,
                          Type longer, Type shorter) {
  auto whole = cast<RankedTensorType>(longer);
  auto part = cast<RankedTensorType>(shorter);
  std::optional<int64_t> size = getGroupSize(op, axes);
  if (dim < 0 || dim >= std::max<int64_t>(whole.getRank(), 1))
    return op->emitOpError("expected a dimension of ")
           << longer << ", but got " << dim;
  if (isBetweenLayouts(longer, shorter))
    return mlir::verifyCompatibleShape(longer, shorter);
  auto others = [&](RankedTensorType type) {
    SmallVector<int64_t> shape(type.getShape());
    shape.erase(shape.begin() + dim);
    return shape;
  };
  bool fits = whole.getElementType() == part.getElementType() &&
              whole.getRank() == part.getRank() && whole.getRank() > 0 &&
              others(whole) == others(part) && part.getDimSize(dim) > 0 &&
              whole.getDimSize(dim) % part.getDimSize(dim) == 0;
  if (fits && (!size || whole.getDimSize(dim) == *size * part.getDimSize(dim)))
    return success();
  InFlightDiagnostic error = op->emitOpError("expected ");
  if (size)
    error << *size << " equal parts";
  else
    error << "equal parts";
  return error << " along dimension " << dim << ", but got " << longer
               << " and " << shorter;
}

/// Without a mesh there are stages alone.
LogicalResult verifyAxes(Operation *op, ArrayAttr axes) {
  MeshAttr mesh = MeshAttr::find(op);
  for (auto [index, axis] : llvm::enumerate(axes.getAsRange<StringAttr>())) {
    if (llvm::is_contained(axes.getValue().take_front(index), axis))
      return op->emitOpError("expected each axis once, but got ")
             << axis << " twice";
    if (mesh && !llvm::is_contained(mesh.getAxes(), axis))
      return op->emitOpError("expected axes of ")
             << mesh << ", but got " << axis;
    if (!mesh && axis.getValue() != "pp")
      return op->emitOpError("is over axis ")
             << axis
             << ", but the module has no mesh; give it one, as in mf.mesh = "
                "#mf.mesh<pp = 1, "
             << axis.getValue() << " = 2>";
  }
  return success();
}

void emitCollective(LaunchEmitter &emitter, CollectiveKind kind, Value input,
                    Value result, ArrayAttr axes) {
  EmittedCollective collective;
  collective.kind = kind;
  collective.input = emitter.getBuffer(input);
  collective.output = emitter.createBuffer(result);
  for (auto axis : axes.getAsRange<StringAttr>())
    collective.axes.push_back(axis.getValue());
  collective.channel = llvm::join(collective.axes, ".");
  emitter.communicate(collective);
}

} // namespace

//===----------------------------------------------------------------------===//
// AllReduceOp and MirrorOp
//===----------------------------------------------------------------------===//

bool AllReduceOp::isView() { return false; }
bool MirrorOp::isView() { return true; }
Engine AllReduceOp::getEngine() { return Engine::Communication; }
Engine MirrorOp::getEngine() { return Engine::Vector; }

LogicalResult AllReduceOp::verify() { return verifyAxes(*this, getAxes()); }
LogicalResult MirrorOp::verify() { return verifyAxes(*this, getAxes()); }

void AllReduceOp::emitInstructions(LaunchEmitter &emitter) {
  emitCollective(emitter, CollectiveKind::AllReduce, getInput(), getResult(),
                 getAxes());
}
void MirrorOp::emitInstructions(LaunchEmitter &emitter) {}

void AllReduceOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                ArrayRef<bool> needed,
                                MutableArrayRef<Value> operandGradients) {
  operandGradients[0] = resultGradients[0];
}
void MirrorOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                             ArrayRef<bool> needed,
                             MutableArrayRef<Value> operandGradients) {
  operandGradients[0] = AllReduceOp::create(
      builder, getLoc(), getInput().getType(), resultGradients[0], getAxes());
}

//===----------------------------------------------------------------------===//
// AllGatherOp, ReduceScatterOp and OwnPartOp
//===----------------------------------------------------------------------===//

bool AllGatherOp::isView() { return false; }
bool ReduceScatterOp::isView() { return false; }
bool OwnPartOp::isView() { return false; }
Engine AllGatherOp::getEngine() { return Engine::Communication; }
Engine ReduceScatterOp::getEngine() { return Engine::Communication; }
Engine OwnPartOp::getEngine() { return Engine::Vector; }

LogicalResult AllGatherOp::verify() {
  if (failed(verifyAxes(*this, getAxes())))
    return failure();
  return verifyParts(*this, getAxes(), getDim(), getType(),
                     getInput().getType());
}
LogicalResult ReduceScatterOp::verify() {
  if (failed(verifyAxes(*this, getAxes())))
    return failure();
  return verifyParts(*this, getAxes(), getDim(), getInput().getType(),
                     getType());
}
LogicalResult OwnPartOp::verify() {
  if (failed(verifyAxes(*this, getAxes())))
    return failure();
  return verifyParts(*this, getAxes(), getDim(), getInput().getType(),
                     getType());
}

void AllGatherOp::emitInstructions(LaunchEmitter &emitter) {
  emitCollective(emitter, CollectiveKind::AllGather, getInput(), getResult(),
                 getAxes());
}
void ReduceScatterOp::emitInstructions(LaunchEmitter &emitter) {
  emitCollective(emitter, CollectiveKind::ReduceScatter, getInput(),
                 getResult(), getAxes());
}
void OwnPartOp::emitInstructions(LaunchEmitter &emitter) {
  llvm::report_fatal_error("mf.own_part has no instructions yet");
}

void AllGatherOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                ArrayRef<bool> needed,
                                MutableArrayRef<Value> operandGradients) {
  Type type = getInput().getType();
  Value gradient = resultGradients[0];
  if (getReplicated())
    operandGradients[0] = OwnPartOp::create(builder, getLoc(), type, gradient,
                                            getAxes(), getDim());
  else
    operandGradients[0] = ReduceScatterOp::create(
        builder, getLoc(), type, gradient, getAxes(), getDim());
}
void ReduceScatterOp::buildGradient(OpBuilder &builder,
                                    ValueRange resultGradients,
                                    ArrayRef<bool> needed,
                                    MutableArrayRef<Value> operandGradients) {
  operandGradients[0] = AllGatherOp::create(
      builder, getLoc(), getInput().getType(), resultGradients[0], getAxes(),
      getDim(), /*replicated=*/false);
}
void OwnPartOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                              ArrayRef<bool> needed,
                              MutableArrayRef<Value> operandGradients) {
  operandGradients[0] = AllGatherOp::create(
      builder, getLoc(), getInput().getType(), resultGradients[0], getAxes(),
      getDim(), /*replicated=*/true);
}

//===----------------------------------------------------------------------===//
// AllToAllOp
//===----------------------------------------------------------------------===//

bool AllToAllOp::isView() { return false; }
Engine AllToAllOp::getEngine() { return Engine::Communication; }

void AllToAllOp::emitInstructions(LaunchEmitter &emitter) {
  llvm::report_fatal_error("mf.all_to_all has no instructions yet");
}

LogicalResult AllToAllOp::verify() {
  if (failed(verifyAxes(*this, getAxes())))
    return failure();
  auto input = cast<RankedTensorType>(getInput().getType());
  int64_t rank = input.getRank();
  int64_t split = getSplit(), concat = getConcat();
  if (split < 0 || split >= rank || concat < 0 || concat >= rank ||
      split == concat)
    return emitOpError("expected two different dimensions of ")
           << input << ", but got " << split << " and " << concat;
  if (isBetweenLayouts(input, getType()))
    return mlir::verifyCompatibleShape(input, getType());
  // What lies between: cut along `split`, not yet put together.
  std::optional<int64_t> size = getGroupSize(*this, getAxes());
  SmallVector<int64_t> shape(input.getShape());
  if (size && shape[split] % *size == 0) {
    shape[split] /= *size;
    shape[concat] *= *size;
    if (getType() == RankedTensorType::get(shape, input.getElementType()))
      return success();
  }
  return emitOpError("expected dimension ")
         << split << " to become " << size.value_or(1)
         << " times smaller and dimension " << concat
         << " as many times larger, but got " << input << " and " << getType();
}

void AllToAllOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                               ArrayRef<bool> needed,
                               MutableArrayRef<Value> operandGradients) {
  operandGradients[0] = AllToAllOp::create(
      builder, getLoc(), getInput().getType(), resultGradients[0], getAxes(),
      getConcat(), getSplit());
}

//===----------------------------------------------------------------------===//
// ReshardOp
//===----------------------------------------------------------------------===//

LogicalResult ReshardOp::verify() {
  if (LayoutAttr::find(getInput().getType()) && LayoutAttr::find(getType()))
    return success();
  return emitOpError("expected tensors with a layout, but got ")
         << getInput().getType() << " and " << getType();
}
