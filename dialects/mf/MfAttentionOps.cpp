//===- MfAttentionOps.cpp - Attention, its documents and prefixes ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/MfOps.h"
#include "dialects/mf/ShapeFactors.h"

using namespace mlir;
using namespace mf::ir;

//===----------------------------------------------------------------------===//
// Documents and prefixes
//===----------------------------------------------------------------------===//

static LogicalResult verifyTokens(Operation *op, Value tokens) {
  if (getGlobalType(tokens).getRank() == 2)
    return success();
  return op->emitOpError("expected tokens [batch, sequence], but got ")
         << tokens.getType();
}

LogicalResult DocumentStartsOp::verify() {
  return verifyTokens(*this, getTokens());
}

LogicalResult DocumentMaskOp::verify() {
  ArrayRef<int64_t> starts = getGlobalType(getStarts()).getShape(),
                    mask = getGlobalType(getMask()).getShape();
  if (starts.size() == 2 && mask.size() == 4 && mask[0] == starts[0] &&
      mask[1] == 1 && mask[2] == starts[1])
    return success();
  return emitOpError("expected starts [batch, queries] and a mask [batch, 1, "
                     "queries, keys], but got ")
         << getStarts().getType() << " and " << getMask().getType();
}

LogicalResult PrefixPositionsOp::verify() {
  return verifyTokens(*this, getTokens());
}

LogicalResult PrefixMaskOp::verify() {
  ArrayRef<int64_t> behind = getGlobalType(getBehind()).getShape(),
                    mask = getGlobalType(getMask()).getShape();
  if (behind.size() == 2 && mask.size() == 4 && mask[0] == behind[0] &&
      mask[1] == 1 && mask[2] == behind[1] && mask[3] == behind[1])
    return success();
  return emitOpError("expected positions [batch, sequence] and a mask [batch, "
                     "1, sequence, sequence], but got ")
         << getBehind().getType() << " and " << getMask().getType();
}

//===----------------------------------------------------------------------===//
// FlashAttentionOp
//===----------------------------------------------------------------------===//

void FlashAttentionOp::build(OpBuilder &builder, OperationState &state,
                             Value query, Value key, Value value, double scale,
                             bool causal, Value slopes, Value firstQuery) {
  RankedTensorType type = getGlobalType(query);
  RankedTensorType rows = getRowType(type);
  build(builder, state, rows, rows,
        withLast(type, getGlobalType(value).getShape().back()), query, key,
        value, firstQuery, slopes, /*dropMask=*/Value(),
        /*starts=*/Value(), builder.getF64FloatAttr(scale),
        builder.getBoolAttr(causal),
        /*rate=*/FloatAttr(), nullptr, nullptr, nullptr);
}

void FlashAttentionOp::setDropout(Value mask, double rate) {
  getDropMaskMutable().assign(mask);
  setRateAttr(Builder(getContext()).getF64FloatAttr(rate));
}

StringRef FlashAttentionOp::getKernelName() {
  return getFirstQuery() ? "mfFlashAttentionPart" : "aclnnFlashAttentionScore";
}
StringRef FlashAttentionGradOp::getKernelName() {
  return getFirstQuery() ? "mfFlashAttentionPartGrad"
                         : "aclnnFlashAttentionScoreGrad";
}
bool FlashAttentionOp::isView() { return false; }
bool FlashAttentionGradOp::isView() { return false; }

/// Checks that a mask has a bit for each probability, and that there is a rate
/// if and only if there is a mask.
static LogicalResult verifyDropMask(FlashAttentionOp op) {
  Value mask = op.getDropMask();
  if (!mask && !op.getRate())
    return success();
  if (!mask || !op.getRate())
    return op.emitOpError("expected both a mask and its rate, or none");
  SmallVector<int64_t> shape(getShape(op.getQuery()));
  shape.back() = getShape(op.getKey())[2];
  if (ArrayRef<int64_t>(shape) != getShape(mask))
    return op.emitOpError("expected a mask with a bit for each query and key, "
                          "but got ")
           << mask.getType();
  return verifyDropRate(op, *op.getRate());
}

LogicalResult FlashAttentionOp::verify() {
  RankedTensorType query = getGlobalType(getQuery()),
                   key = getGlobalType(getKey()),
                   value = getGlobalType(getValue());
  if (query.getRank() != 4 || key.getRank() != 4 || value.getRank() != 4)
    return emitOpError("expected [batch, heads, sequence, head dimension] "
                       "operands, but got ")
           << query << ", " << key << " and " << value;
  if (query.getDimSize(0) != key.getDimSize(0) ||
      key.getShape().take_front(3) != value.getShape().take_front(3) ||
      query.getDimSize(3) != key.getDimSize(3))
    return emitOpError("expected operands that agree in batch, key sequence "
                       "and head dimension, but got ")
           << query << ", " << key << " and " << value;
  if (key.getDimSize(1) == 0 || query.getDimSize(1) % key.getDimSize(1) != 0)
    return emitOpError("expected the number of query heads to be a multiple of "
                       "that of key heads, but got ")
           << query.getDimSize(1) << " and " << key.getDimSize(1);
  Builder builder(getContext());
  if (Value slopes = getSlopes())
    if (failed(verifyType(
            *this, slopes,
            RankedTensorType::get({query.getDimSize(1)}, builder.getF32Type()),
            "slopes", ", one per query head")))
      return failure();
  if (Value first = getFirstQuery()) {
    if (failed(verifyPosition(*this, first)))
      return failure();
    if (query.getDimSize(2) > key.getDimSize(2))
      return emitOpError("expected part of the ")
             << key.getDimSize(2) << " positions of the keys, but got "
             << query.getDimSize(2) << " query rows";
  }
  if (failed(verifyDropMask(*this)))
    return failure();
  if (Value starts = getStarts())
    if (failed(verifyType(
            *this, starts,
            RankedTensorType::get({query.getDimSize(0), query.getDimSize(2)},
                                  builder.getI32Type()),
            "starts", ", one per query row")))
      return failure();
  if (getGlobalType(getSoftmaxMax()) != getRowType(query) ||
      getGlobalType(getSoftmaxSum()) != getRowType(query))
    return emitOpError("expected softmax_max and softmax_sum of type ")
           << getRowType(query);
  return verifyType(*this, getResult(), withLast(query, value.getDimSize(3)));
}

bool FlashAttentionOp::isDifferentiable(unsigned result) { return result == 2; }

void FlashAttentionOp::buildGradient(OpBuilder &builder,
                                     ValueRange resultGradients,
                                     ArrayRef<bool> needed,
                                     MutableArrayRef<Value> operandGradients) {
  auto gradient = FlashAttentionGradOp::create(
      builder, getLoc(), getQuery().getType(), getKey().getType(),
      getValue().getType(), getQuery(), getKey(), getValue(),
      resultGradients[2], getSoftmaxMax(), getSoftmaxSum(), getResult(),
      getFirstQuery(), getSlopes(), getDropMask(), getStarts(), getScaleAttr(),
      getCausalAttr(), getRateAttr(), nullptr, nullptr, nullptr);
  llvm::copy(gradient.getResults(), operandGradients.begin());
}
