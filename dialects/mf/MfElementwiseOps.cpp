//===- MfElementwiseOps.cpp - Elementwise operators -----------------------===//

#include "dialects/mf/MfOps.h"

using namespace mlir;
using namespace mf::ir;

/// `rhs` must be the trailing dimensions of `lhs`.
static LogicalResult verifyTrailingBroadcast(Operation *op, Value lhs,
                                             Value rhs) {
  auto lhsType = cast<RankedTensorType>(lhs.getType());
  auto rhsType = cast<RankedTensorType>(rhs.getType());
  if (lhsType.getElementType() != rhsType.getElementType())
    return op->emitOpError("expected operands of one element type, but got ")
           << lhsType << " and " << rhsType;
  if (rhsType.getRank() > lhsType.getRank() ||
      lhsType.getShape().take_back(rhsType.getRank()) != rhsType.getShape())
    return op->emitOpError("expected the right operand to have the trailing "
                           "dimensions of the left, but got ")
           << lhsType << " and " << rhsType;
  return success();
}

/// Sums `gradient` over the leading dimensions that `operand` was repeated
/// over.
static Value reduceToOperand(OpBuilder &builder, Location loc, Value gradient,
                             Value operand) {
  auto from = cast<RankedTensorType>(gradient.getType());
  auto to = cast<RankedTensorType>(operand.getType());
  if (from == to)
    return gradient;
  SmallVector<int64_t> axes;
  for (int64_t axis = 0; axis < from.getRank() - to.getRank(); ++axis)
    axes.push_back(axis);
  return ReduceSumOp::create(builder, loc, gradient, axes);
}

LogicalResult AddOp::verify() {
  return verifyTrailingBroadcast(*this, getLhs(), getRhs());
}

void AddOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                          ArrayRef<bool> needed,
                          MutableArrayRef<Value> operandGradients) {
  Value gradient = resultGradients.front();
  if (needed[0])
    operandGradients[0] = gradient;
  if (needed[1])
    operandGradients[1] =
        reduceToOperand(builder, getLoc(), gradient, getRhs());
}

LogicalResult MulOp::verify() {
  return verifyTrailingBroadcast(*this, getLhs(), getRhs());
}

void MulOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                          ArrayRef<bool> needed,
                          MutableArrayRef<Value> operandGradients) {
  Value gradient = resultGradients.front();
  if (needed[0])
    operandGradients[0] = MulOp::create(builder, getLoc(), gradient, getRhs());
  if (needed[1]) {
    Value product = MulOp::create(builder, getLoc(), gradient, getLhs());
    operandGradients[1] = reduceToOperand(builder, getLoc(), product, getRhs());
  }
}

void ScaleOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                            ArrayRef<bool> needed,
                            MutableArrayRef<Value> operandGradients) {
  Value gradient = resultGradients.front();
  operandGradients[0] = ScaleOp::create(
      builder, getLoc(), gradient, getValueAttr(), nullptr, nullptr, nullptr);
}

void NegOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                          ArrayRef<bool> needed,
                          MutableArrayRef<Value> operandGradients) {
  Value gradient = resultGradients.front();
  operandGradients[0] =
      NegOp::create(builder, getLoc(), gradient.getType(), gradient);
}

void SiluOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                           ArrayRef<bool> needed,
                           MutableArrayRef<Value> operandGradients) {
  Value gradient = resultGradients.front();
  operandGradients[0] = SiluGradOp::create(
      builder, getLoc(), gradient.getType(), ValueRange{gradient, getInput()});
}

void CastOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                           ArrayRef<bool> needed,
                           MutableArrayRef<Value> operandGradients) {
  operandGradients[0] = CastOp::create(builder, getLoc(), getInput().getType(),
                                       resultGradients.front());
}

bool CastOp::areCastCompatible(TypeRange inputs, TypeRange outputs) {
  return inputs.size() == 1 && outputs.size() == 1 &&
         succeeded(mlir::verifyCompatibleShape(inputs[0], outputs[0]));
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  return {};
}
