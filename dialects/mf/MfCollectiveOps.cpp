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

/// Checks that `longer` is as many times `shorter` along the first dimension as
/// the group has ranks.
LogicalResult verifyParts(Operation *op, ArrayAttr axes, Type longer,
                          Type shorter) {
  auto whole = cast<RankedTensorType>(longer);
  auto part = cast<RankedTensorType>(shorter);
  std::optional<int64_t> size = getGroupSize(op, axes);
  bool fits = whole.getElementType() == part.getElementType() &&
              whole.getRank() == part.getRank() && whole.getRank() > 0 &&
              whole.getShape().drop_front() == part.getShape().drop_front() &&
              part.getDimSize(0) > 0 &&
              whole.getDimSize(0) % part.getDimSize(0) == 0;
  if (fits && (!size || whole.getDimSize(0) == *size * part.getDimSize(0)))
    return success();
  InFlightDiagnostic error = op->emitOpError("expected ");
  if (size)
    error << *size << " equal parts";
  else
    error << "equal parts";
  return error << " along the first dimension, but got " << longer << " and "
               << shorter;
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

bool AllReduceOp::isView() { return false; }
bool AllGatherOp::isView() { return false; }
bool ReduceScatterOp::isView() { return false; }
Engine AllReduceOp::getEngine() { return Engine::Communication; }
Engine AllGatherOp::getEngine() { return Engine::Communication; }
Engine ReduceScatterOp::getEngine() { return Engine::Communication; }

LogicalResult AllReduceOp::verify() { return verifyAxes(*this, getAxes()); }
LogicalResult AllGatherOp::verify() {
  if (failed(verifyAxes(*this, getAxes())))
    return failure();
  return verifyParts(*this, getAxes(), getType(), getInput().getType());
}
LogicalResult ReduceScatterOp::verify() {
  if (failed(verifyAxes(*this, getAxes())))
    return failure();
  return verifyParts(*this, getAxes(), getInput().getType(), getType());
}

void AllReduceOp::emitInstructions(LaunchEmitter &emitter) {
  emitCollective(emitter, CollectiveKind::AllReduce, getInput(), getResult(),
                 getAxes());
}
void AllGatherOp::emitInstructions(LaunchEmitter &emitter) {
  emitCollective(emitter, CollectiveKind::AllGather, getInput(), getResult(),
                 getAxes());
}
void ReduceScatterOp::emitInstructions(LaunchEmitter &emitter) {
  emitCollective(emitter, CollectiveKind::ReduceScatter, getInput(),
                 getResult(), getAxes());
}

void AllReduceOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                ArrayRef<bool> needed,
                                MutableArrayRef<Value> operandGradients) {
  if (needed[0])
    operandGradients[0] = AllReduceOp::create(
        builder, getLoc(), getInput().getType(), resultGradients[0], getAxes());
}
void AllGatherOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                ArrayRef<bool> needed,
                                MutableArrayRef<Value> operandGradients) {
  if (needed[0])
    operandGradients[0] = ReduceScatterOp::create(
        builder, getLoc(), getInput().getType(), resultGradients[0], getAxes());
}
void ReduceScatterOp::buildGradient(OpBuilder &builder,
                                    ValueRange resultGradients,
                                    ArrayRef<bool> needed,
                                    MutableArrayRef<Value> operandGradients) {
  if (needed[0])
    operandGradients[0] = AllGatherOp::create(
        builder, getLoc(), getInput().getType(), resultGradients[0], getAxes());
}
