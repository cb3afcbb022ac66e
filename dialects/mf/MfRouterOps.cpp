//===- MfRouterOps.cpp - Operators that choose experts --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/MfOps.h"

using namespace mlir;
using namespace mf::ir;

static RankedTensorType getIndexType(RankedTensorType type) {
  return RankedTensorType::get(type.getShape(),
                               IntegerType::get(type.getContext(), 32));
}

static LogicalResult verifyRow(Operation *op, Value value) {
  if (getGlobalType(value).getRank() > 0)
    return success();
  return op->emitOpError("expected at least one dimension, but got ")
         << value.getType();
}

//===----------------------------------------------------------------------===//
// TopKOp and the elements it chooses
//===----------------------------------------------------------------------===//

void TopKOp::build(OpBuilder &builder, OperationState &state, Value input,
                   int64_t k) {
  RankedTensorType values = withLast(getGlobalType(input), k);
  build(builder, state, values, getIndexType(values), input,
        builder.getI64IntegerAttr(k), nullptr, nullptr, nullptr);
}

LogicalResult TopKOp::verify() {
  if (failed(verifyRow(*this, getInput())))
    return failure();
  RankedTensorType input = getGlobalType(getInput());
  auto k = static_cast<int64_t>(getK());
  if (k < 1 || k > input.getShape().back())
    return emitOpError("expected k from 1 to ")
           << input.getShape().back() << ", but got " << k;
  RankedTensorType values = withLast(input, k);
  if (failed(verifyType(*this, getValues(), values)))
    return failure();
  return verifyType(*this, getIndices(), getIndexType(values));
}

void TopKOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                           ArrayRef<bool> needed,
                           MutableArrayRef<Value> operandGradients) {
  operandGradients[0] = ScatterElementsOp::create(
      builder, getLoc(), getInput().getType(),
      ValueRange{resultGradients.front(), getIndices()});
}

void GatherElementsOp::build(OpBuilder &builder, OperationState &state,
                             Value input, Value indices) {
  build(
      builder, state,
      withLast(getGlobalType(input), getGlobalType(indices).getShape().back()),
      input, indices, nullptr, nullptr, nullptr);
}

LogicalResult GatherElementsOp::verify() {
  if (failed(verifyRow(*this, getInput())))
    return failure();
  RankedTensorType input = getGlobalType(getInput());
  RankedTensorType indices = getGlobalType(getIndices());
  if (indices.getRank() != input.getRank() ||
      indices.getShape().drop_back() != input.getShape().drop_back())
    return emitOpError("expected indices that differ from the input only in "
                       "the last dimension, but got ")
           << indices << " for " << input;
  return verifyType(*this, getResult(),
                    withLast(input, indices.getShape().back()));
}

void GatherElementsOp::buildGradient(OpBuilder &builder,
                                     ValueRange resultGradients,
                                     ArrayRef<bool> needed,
                                     MutableArrayRef<Value> operandGradients) {
  operandGradients[0] = ScatterElementsOp::create(
      builder, getLoc(), getInput().getType(),
      ValueRange{resultGradients.front(), getIndices()});
}

void OneHotOp::build(OpBuilder &builder, OperationState &state, Value indices,
                     int64_t depth) {
  SmallVector<int64_t> shape(getGlobalType(indices).getShape());
  shape.push_back(depth);
  build(builder, state, RankedTensorType::get(shape, builder.getF32Type()),
        indices, nullptr, nullptr, nullptr);
}

LogicalResult OneHotOp::verify() {
  RankedTensorType result = getGlobalType(getResult());
  if (result.getRank() < 1 ||
      result.getShape().drop_back() != getGlobalType(getIndices()).getShape())
    return emitOpError("expected the dimensions of the indices and one more, "
                       "but got ")
           << result << " for " << getIndices().getType();
  return success();
}

//===----------------------------------------------------------------------===//
// CumsumOp, SortOp and TopKRouterOp
//===----------------------------------------------------------------------===//

LogicalResult CumsumOp::verify() {
  auto axis = static_cast<int64_t>(getAxis());
  int64_t rank = getGlobalType(getInput()).getRank();
  if (axis >= 0 && axis < rank)
    return success();
  return emitOpError("expected an axis below ") << rank << ", but got " << axis;
}

void SortOp::build(OpBuilder &builder, OperationState &state, Value keys) {
  RankedTensorType type = getGlobalType(keys);
  build(builder, state, type, getIndexType(type), keys, nullptr, nullptr,
        nullptr);
}

LogicalResult SortOp::verify() {
  if (failed(verifyRow(*this, getKeys())))
    return failure();
  RankedTensorType type = getGlobalType(getKeys());
  if (failed(verifyType(*this, getValues(), type)))
    return failure();
  return verifyType(*this, getIndices(), getIndexType(type));
}

LogicalResult TopKRouterOp::verify() {
  RankedTensorType experts = getGlobalType(getExperts());
  RankedTensorType dispatch = getGlobalType(getDispatch());
  if (experts.getRank() != 3 || dispatch.getRank() != 3 ||
      dispatch.getDimSize(0) != experts.getDimSize(0))
    return emitOpError("expected experts [rows, tokens, k] and dispatch [rows, "
                       "experts, capacity], but got ")
           << experts << " and " << dispatch;
  return verifyType(*this, getCombine(), experts);
}

//===----------------------------------------------------------------------===//
// Statistics
//===----------------------------------------------------------------------===//

LogicalResult TrackLoadOp::verify() {
  RankedTensorType bias = getGlobalType(getBias());
  if (bias.getRank() != 1 || !bias.getElementType().isF32())
    return emitOpError("expected a bias of one dimension in f32, but got ")
           << bias;
  if (static_cast<int64_t>(getChoices()) < 1)
    return emitOpError("expected a positive number of choices");
  return success();
}

void TrackLoadOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                ArrayRef<bool> needed,
                                MutableArrayRef<Value> operandGradients) {
  operandGradients[0] = resultGradients.front();
  if (!needed[1])
    return;
  Value places = OneHotOp::create(builder, getLoc(), getExperts(),
                                  getGlobalType(getBias()).getDimSize(0));
  auto axes = llvm::to_vector(
      llvm::seq<int64_t>(0, getGlobalType(getExperts()).getRank()));
  Value sum = ReduceSumOp::create(builder, getLoc(), places, axes);
  double share = 1.0 / static_cast<double>(getChoices());
  operandGradients[1] = ScaleOp::create(builder, getLoc(), sum.getType(), sum,
                                        builder.getF64FloatAttr(share), nullptr,
                                        nullptr, nullptr);
}

LogicalResult RecordOp::verify() {
  RankedTensorType input = getGlobalType(getInput());
  RankedTensorType value = getGlobalType(getValue());
  if (getGlobalType(getStatistic()) != value)
    return emitOpError("expected a statistic of the value's type, but got ")
           << getStatistic().getType() << " for " << value;
  if (input.getRank() < 1 || value.getRank() < 1 ||
      input.getDimSize(0) != value.getDimSize(0))
    return emitOpError("expected as many rows of the value as of the input, "
                       "but got ")
           << value << " for " << input;
  return success();
}

void RecordOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                             ArrayRef<bool> needed,
                             MutableArrayRef<Value> operandGradients) {
  operandGradients[0] = resultGradients.front();
  operandGradients[1] = getValue();
}

LogicalResult TrackLargestOp::verify() {
  ArrayRef<int64_t> input = getGlobalType(getInput()).getShape(),
                    values = getGlobalType(getValues()).getShape();
  RankedTensorType statistic = getGlobalType(getStatistic());
  if (input.size() == 4 && values == input.drop_back() &&
      statistic.getElementType().isF32() &&
      statistic.getShape() == values.slice(1, 1))
    return success();
  return emitOpError("expected an input [batch, heads, sequence, width], a "
                     "statistic [heads] in f32 and values [batch, heads, "
                     "sequence], but got ")
         << getInput().getType() << ", " << getStatistic().getType() << " and "
         << getValues().getType();
}

void TrackLargestOp::buildGradient(OpBuilder &builder,
                                   ValueRange resultGradients,
                                   ArrayRef<bool> needed,
                                   MutableArrayRef<Value> operandGradients) {
  operandGradients[0] = resultGradients.front();
  if (needed[1])
    operandGradients[1] = ReduceMaxOp::create(builder, getLoc(), getValues(),
                                              ArrayRef<int64_t>{0, 2});
}
