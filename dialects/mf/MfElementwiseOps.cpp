//===- MfElementwiseOps.cpp - Elementwise operators -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/MfOps.h"

using namespace mlir;
using namespace mf::ir;

/// Checks that `rhs` has the trailing dimensions of `lhs`, or one element in
/// them.
static LogicalResult verifyTrailingBroadcast(Operation *op, Value lhs,
                                             Value rhs) {
  auto lhsType = cast<RankedTensorType>(lhs.getType());
  auto rhsType = cast<RankedTensorType>(rhs.getType());
  if (lhsType.getElementType() != rhsType.getElementType())
    return op->emitOpError("expected operands of one element type, but got ")
           << lhsType << " and " << rhsType;
  auto isRepeated = [&] {
    return llvm::all_of(
        llvm::zip_equal(lhsType.getShape().take_back(rhsType.getRank()),
                        rhsType.getShape()),
        [](auto sizes) {
          auto [left, right] = sizes;
          return left == right || right == 1;
        });
  };
  if (rhsType.getRank() > lhsType.getRank() || !isRepeated())
    return op->emitOpError("expected the right operand to have the trailing "
                           "dimensions of the left, but got ")
           << lhsType << " and " << rhsType;
  return success();
}

/// Sums `gradient` over the dimensions along which `operand` was broadcast.
static Value reduceToOperand(OpBuilder &builder, Location loc, Value gradient,
                             Value operand) {
  auto from = cast<RankedTensorType>(gradient.getType());
  auto to = cast<RankedTensorType>(operand.getType());
  if (from == to)
    return gradient;
  SmallVector<int64_t> axes;
  const int64_t leading = from.getRank() - to.getRank();
  for (auto [axis, size] : llvm::enumerate(from.getShape())) {
    auto place = static_cast<int64_t>(axis);
    if (place < leading || to.getDimSize(place - leading) != size)
      axes.push_back(place);
  }
  Value sum = ReduceSumOp::create(builder, loc, gradient, axes);
  if (sum.getType() == to)
    return sum;
  return ReshapeOp::create(builder, loc, to, sum);
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

LogicalResult DivOp::verify() {
  return verifyTrailingBroadcast(*this, getLhs(), getRhs());
}

/// The gradient follows d(a / b) = da / b - (a / b) / b db.
void DivOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                          ArrayRef<bool> needed,
                          MutableArrayRef<Value> operandGradients) {
  Value quotient =
      DivOp::create(builder, getLoc(), resultGradients.front(), getRhs());
  if (needed[0])
    operandGradients[0] = quotient;
  if (!needed[1])
    return;
  Value product = MulOp::create(builder, getLoc(), quotient, getResult());
  Value sum = reduceToOperand(builder, getLoc(), product, getRhs());
  operandGradients[1] = NegOp::create(builder, getLoc(), sum.getType(), sum);
}

LogicalResult AtLeastOp::verify() {
  return verifyTrailingBroadcast(*this, getLhs(), getRhs());
}

StringRef CompareScalarOp::getKernelName() {
  switch (getComparison()) {
  case Comparison::Greater:
    return "aclnnGtScalar";
  case Comparison::AtLeast:
    return "aclnnGeScalar";
  case Comparison::Less:
    return "aclnnLtScalar";
  case Comparison::NotEqual:
    return "aclnnNeScalar";
  }
  llvm_unreachable("unknown comparison");
}

bool CompareScalarOp::isView() { return false; }

DictionaryAttr CompareScalarOp::getKernelAttributes() {
  return DictionaryAttr::get(
      getContext(), NamedAttribute(getValueAttrName(), getValueAttr()));
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

void GeluOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                           ArrayRef<bool> needed,
                           MutableArrayRef<Value> operandGradients) {
  Value gradient = resultGradients.front();
  operandGradients[0] = GeluGradOp::create(
      builder, getLoc(), gradient.getType(), ValueRange{gradient, getInput()});
}

void FastGeluOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                               ArrayRef<bool> needed,
                               MutableArrayRef<Value> operandGradients) {
  Value gradient = resultGradients.front();
  operandGradients[0] = FastGeluGradOp::create(
      builder, getLoc(), gradient.getType(), ValueRange{gradient, getInput()});
}

void AddScalarOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                ArrayRef<bool> needed,
                                MutableArrayRef<Value> operandGradients) {
  operandGradients[0] = resultGradients.front();
}

void ExpOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                          ArrayRef<bool> needed,
                          MutableArrayRef<Value> operandGradients) {
  operandGradients[0] =
      MulOp::create(builder, getLoc(), resultGradients.front(), getResult());
}

void LogOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                          ArrayRef<bool> needed,
                          MutableArrayRef<Value> operandGradients) {
  operandGradients[0] =
      DivOp::create(builder, getLoc(), resultGradients.front(), getInput());
}

void SigmoidOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                              ArrayRef<bool> needed,
                              MutableArrayRef<Value> operandGradients) {
  Value gradient = resultGradients.front();
  operandGradients[0] = SigmoidGradOp::create(
      builder, getLoc(), gradient.getType(), ValueRange{gradient, getResult()});
}

void SqrtSoftplusOp::buildGradient(OpBuilder &builder,
                                   ValueRange resultGradients,
                                   ArrayRef<bool> needed,
                                   MutableArrayRef<Value> operandGradients) {
  Value gradient = resultGradients.front();
  operandGradients[0] = SqrtSoftplusGradOp::create(
      builder, getLoc(), gradient.getType(), ValueRange{gradient, getInput()});
}

void CastOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                           ArrayRef<bool> needed,
                           MutableArrayRef<Value> operandGradients) {
  // The gradient may have the input's type already.
  Value gradient = resultGradients.front();
  operandGradients[0] =
      gradient.getType() == getInput().getType()
          ? gradient
          : CastOp::create(builder, getLoc(), getInput().getType(), gradient)
                .getResult();
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
