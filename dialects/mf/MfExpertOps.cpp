//===- MfExpertOps.cpp - Moving tokens to experts and back ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/MfOps.h"
#include "mf/Program/Signatures/KernelSignature.h"

using namespace mlir;
using mf::CollectiveKind;
using mf::Engine;
using namespace mf::ir;

//===----------------------------------------------------------------------===//
// Rows by index
//===----------------------------------------------------------------------===//

/// Returns the type [..., places, width].
static RankedTensorType getGatheredType(RankedTensorType input,
                                        RankedTensorType indices) {
  SmallVector<int64_t> shape(indices.getShape());
  shape.push_back(input.getShape().back());
  return RankedTensorType::get(shape, input.getElementType());
}

void GatherRowsOp::build(OpBuilder &builder, OperationState &state, Value input,
                         Value indices) {
  build(builder, state,
        getGatheredType(getGlobalType(input), getGlobalType(indices)), input,
        indices, nullptr, nullptr, nullptr);
}

/// Checks that the indices have the leading dimensions of the rows that they
/// select.
static LogicalResult verifyPlaces(Operation *op, Value rows, Value places) {
  RankedTensorType input = getGlobalType(rows), indices = getGlobalType(places);
  if (input.getRank() >= 2 && indices.getRank() == input.getRank() - 1 &&
      indices.getShape().drop_back() == input.getShape().drop_back(2))
    return success();
  return op->emitOpError("expected rows [..., rows, width] and places [..., "
                         "places] of the same leading dimensions, but got ")
         << input << " and " << indices;
}

LogicalResult GatherRowsOp::verify() {
  if (failed(verifyPlaces(*this, getInput(), getIndices())))
    return failure();
  return verifyType(
      *this, getResult(),
      getGatheredType(getGlobalType(getInput()), getGlobalType(getIndices())));
}

void GatherRowsOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                 ArrayRef<bool> needed,
                                 MutableArrayRef<Value> operandGradients) {
  operandGradients[0] = GatherRowsGradOp::create(
      builder, getLoc(), getInput().getType(),
      ValueRange{resultGradients.front(), getIndices()});
}

void TokenPermuteOp::build(OpBuilder &builder, OperationState &state,
                           Value tokens, Value keys) {
  RankedTensorType type = getGlobalType(tokens);
  build(builder, state, type,
        RankedTensorType::get(getGlobalType(keys).getShape(),
                              builder.getI32Type()),
        tokens, keys, nullptr, nullptr, nullptr);
}

/// Checks that the number of keys or places equals the number of rows.
static LogicalResult verifyPermutation(Operation *op, Value rows,
                                       Value places) {
  if (failed(verifyPlaces(op, rows, places)))
    return failure();
  RankedTensorType input = getGlobalType(rows), indices = getGlobalType(places);
  if (input.getDimSize(input.getRank() - 2) == indices.getShape().back())
    return success();
  return op->emitOpError("expected one place for each row, but got ")
         << indices << " for " << input;
}

LogicalResult TokenPermuteOp::verify() {
  if (failed(verifyPermutation(*this, getTokens(), getKeys())))
    return failure();
  return verifyType(*this, getPlaces(),
                    RankedTensorType::get(getGlobalType(getKeys()).getShape(),
                                          IntegerType::get(getContext(), 32)));
}

void TokenPermuteOp::buildGradient(OpBuilder &builder,
                                   ValueRange resultGradients,
                                   ArrayRef<bool> needed,
                                   MutableArrayRef<Value> operandGradients) {
  Value gradient = resultGradients.front();
  operandGradients[0] = TokenUnpermuteOp::create(
      builder, getLoc(), gradient.getType(), ValueRange{gradient, getPlaces()});
}

LogicalResult TokenUnpermuteOp::verify() {
  return verifyPermutation(*this, getInput(), getPlaces());
}

void TokenUnpermuteOp::buildGradient(OpBuilder &builder,
                                     ValueRange resultGradients,
                                     ArrayRef<bool> needed,
                                     MutableArrayRef<Value> operandGradients) {
  operandGradients[0] = GatherRowsGradOp::create(
      builder, getLoc(), getInput().getType(),
      ValueRange{resultGradients.front(), getPlaces()});
}

//===----------------------------------------------------------------------===//
// Products by expert
//===----------------------------------------------------------------------===//

/// Returns the type of the product of rows [groups, ranks, rows, k] and weights
/// [ranks, experts, k, n]. The last two dimensions of the weights may be
/// transposed.
static RankedTensorType getProductType(Value input, Value weight,
                                       bool transposed) {
  RankedTensorType type = getGlobalType(input);
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = getGlobalType(weight).getDimSize(transposed ? 2 : 3);
  return RankedTensorType::get(shape, type.getElementType());
}

/// Checks the shapes [groups, ranks, rows, width] and [groups, ranks, experts].
static LogicalResult verifyRows(Operation *op, Value input, Value counts) {
  RankedTensorType rows = getGlobalType(input), numbers = getGlobalType(counts);
  if (rows.getRank() == 4 && numbers.getRank() == 3 &&
      numbers.getElementType().isF32() &&
      rows.getShape().take_front(2) == numbers.getShape().take_front(2))
    return success();
  return op->emitOpError("expected rows [groups, ranks, rows, width] and "
                         "counts [groups, ranks, experts] in f32, but got ")
         << rows << " and " << numbers;
}

template <typename Op> static LogicalResult verifyProduct(Op op) {
  if (failed(verifyRows(op, op.getInput(), op.getCounts())))
    return failure();
  RankedTensorType input = getGlobalType(op.getInput());
  RankedTensorType weight = getGlobalType(op.getWeight());
  RankedTensorType counts = getGlobalType(op.getCounts());
  bool fits =
      weight.getRank() == 4 &&
      weight.getElementType() == input.getElementType() &&
      weight.getShape().take_front(2) == counts.getShape().drop_front() &&
      weight.getDimSize(op.getTransposeWeight() ? 3 : 2) == input.getDimSize(3);
  if (!fits)
    return op.emitOpError("expected a weight of each of the ")
           << counts.getDimSize(2) << " experts of " << counts.getDimSize(1)
           << " ranks that takes " << input.getDimSize(3) << " elements of "
           << input.getElementType() << ", but got " << weight;
  return verifyType(
      op, op.getResult(),
      getProductType(op.getInput(), op.getWeight(), op.getTransposeWeight()));
}

template <typename Op> static LogicalResult verifyWeightGradient(Op op) {
  if (failed(verifyRows(op, op.getInput(), op.getCounts())) ||
      failed(verifyRows(op, op.getOutputGradient(), op.getCounts())))
    return failure();
  RankedTensorType input = getGlobalType(op.getInput());
  RankedTensorType gradient = getGlobalType(op.getOutputGradient());
  RankedTensorType counts = getGlobalType(op.getCounts());
  if (input.getDimSize(2) != gradient.getDimSize(2) ||
      input.getElementType() != gradient.getElementType())
    return op.emitOpError("expected as many rows of one element type, but got ")
           << input << " and " << gradient;
  return verifyType(
      op, op.getWeightGradient(),
      RankedTensorType::get({counts.getDimSize(1), counts.getDimSize(2),
                             input.getDimSize(3), gradient.getDimSize(3)},
                            input.getElementType()));
}

/// Builds the gradients as for a plain product, dX = dY W^T and dW = X^T dY,
/// for each expert's rows.
template <typename Op, typename WeightGradient>
static void buildProductGradient(Op op, OpBuilder &builder, Value gradient,
                                 ArrayRef<bool> needed,
                                 MutableArrayRef<Value> operandGradients) {
  bool transposed = op.getTransposeWeight();
  Value counts = op.getCounts();
  if (needed[0])
    operandGradients[0] = Op::create(builder, op.getLoc(), gradient,
                                     op.getWeight(), counts, !transposed);
  if (!needed[1])
    return;
  Value first = transposed ? gradient : op.getInput();
  Value second = transposed ? op.getInput() : gradient;
  operandGradients[1] =
      WeightGradient::create(builder, op.getLoc(), op.getWeight().getType(),
                             ValueRange{first, second, counts});
}

void ExpertMatmulOp::build(OpBuilder &builder, OperationState &state,
                           Value input, Value weight, Value counts,
                           bool transposeWeight) {
  build(builder, state, getProductType(input, weight, transposeWeight), input,
        weight, counts, transposeWeight, nullptr, nullptr, nullptr);
}

LogicalResult ExpertMatmulOp::verify() { return verifyProduct(*this); }

void ExpertMatmulOp::buildGradient(OpBuilder &builder,
                                   ValueRange resultGradients,
                                   ArrayRef<bool> needed,
                                   MutableArrayRef<Value> operandGradients) {
  buildProductGradient<ExpertMatmulOp, ExpertMatmulWeightGradOp>(
      *this, builder, resultGradients.front(), needed, operandGradients);
}

LogicalResult ExpertMatmulWeightGradOp::verify() {
  return verifyWeightGradient(*this);
}

void GroupedMatmulOp::build(OpBuilder &builder, OperationState &state,
                            Value input, Value weight, Value counts,
                            bool transposeWeight) {
  build(builder, state, getProductType(input, weight, transposeWeight), input,
        weight, counts, transposeWeight, nullptr, nullptr, nullptr);
}

LogicalResult GroupedMatmulOp::verify() { return verifyProduct(*this); }

void GroupedMatmulOp::buildGradient(OpBuilder &builder,
                                    ValueRange resultGradients,
                                    ArrayRef<bool> needed,
                                    MutableArrayRef<Value> operandGradients) {
  buildProductGradient<GroupedMatmulOp, GroupedMatmulWeightGradOp>(
      *this, builder, resultGradients.front(), needed, operandGradients);
}

LogicalResult GroupedMatmulWeightGradOp::verify() {
  return verifyWeightGradient(*this);
}

//===----------------------------------------------------------------------===//
// ExchangeTokensOp
//===----------------------------------------------------------------------===//

void ExchangeTokensOp::build(OpBuilder &builder, OperationState &state,
                             Value input, Value send, Value receive,
                             int64_t room, double fill) {
  RankedTensorType type = getGlobalType(input);
  SmallVector<int64_t> shape(type.getShape());
  shape[2] = room;
  build(builder, state, RankedTensorType::get(shape, type.getElementType()),
        input, send, receive, builder.getF64FloatAttr(fill), nullptr, nullptr,
        nullptr, nullptr);
}

StringRef ExchangeTokensOp::getKernelName() {
  return getAxes() ? "" : "mfExchangeTokens";
}

bool ExchangeTokensOp::isView() { return false; }

Engine ExchangeTokensOp::getEngine() {
  return getAxes() ? Engine::Communication : getKernelEngine(getKernelName());
}

DictionaryAttr ExchangeTokensOp::getKernelAttributes() {
  return DictionaryAttr::get(getContext(),
                             NamedAttribute(getFillAttrName(), getFillAttr()));
}

int64_t ExchangeTokensOp::getRoom() {
  return getGlobalType(getResult()).getDimSize(2);
}

/// Ranks send the rows that they have. On the way back most rows of the input
/// are unused, so the smaller size counts.
int64_t ExchangeTokensOp::getMeanRows() {
  return std::min(getGlobalType(getInput()).getDimSize(2), getRoom());
}

LogicalResult ExchangeTokensOp::verify() {
  RankedTensorType input = getGlobalType(getInput()),
                   send = getGlobalType(getSend());
  RankedTensorType result = getGlobalType(getResult());
  if (input.getRank() != 4 || send.getRank() != 4 ||
      !send.getElementType().isF32() || getGlobalType(getReceive()) != send ||
      send.getShape().take_front(2) != input.getShape().take_front(2))
    return emitOpError("expected rows [groups, ranks, rows, width] and counts "
                       "[groups, ranks, ranks, experts] in f32, but got ")
           << input << ", " << send << " and " << getReceive().getType();
  SmallVector<int64_t> shape(input.getShape());
  if (result.getRank() == 4)
    shape[2] = result.getDimSize(2);
  if (failed(verifyType(*this, getResult(),
                        RankedTensorType::get(shape, input.getElementType()))))
    return failure();
  std::optional<ArrayAttr> axes = getAxes();
  if (!axes) {
    if (send.getDimSize(1) == send.getDimSize(2))
      return success();
    return emitOpError("expected counts from each rank to each, but got ")
           << send;
  }
  if (failed(verifyGroup(*this, *axes)))
    return failure();
  int64_t size = getGroupSize(*this, *axes);
  if (input.getDimSize(0) == 1 && input.getDimSize(1) == 1 &&
      send.getDimSize(2) == size)
    return success();
  return emitOpError("expected this rank's rows [1, 1, rows, width] and counts "
                     "for ")
         << size << " ranks, but got " << input << " and " << send;
}

void ExchangeTokensOp::emitInstructions(LaunchEmitter &emitter) {
  if (!getAxes())
    return emitKernel(*this, emitter);
  EmittedCollective collective;
  collective.kind = CollectiveKind::AllToAllV;
  setAxes(collective, *getAxes());
  collective.input = emitter.getBuffer(getInput());
  collective.send = emitter.getBuffer(getSend());
  collective.receive = emitter.getBuffer(getReceive());
  collective.fill = getFill().convertToDouble();
  collective.output = emitter.createBuffer(getResult());
  emitter.communicate(collective);
}

void ExchangeTokensOp::buildGradient(OpBuilder &builder,
                                     ValueRange resultGradients,
                                     ArrayRef<bool> needed,
                                     MutableArrayRef<Value> operandGradients) {
  operandGradients[0] = ExchangeTokensOp::create(
      builder, getLoc(), getInput().getType(), resultGradients.front(),
      getReceive(), getSend(), builder.getF64FloatAttr(0), getAxesAttr(),
      nullptr, nullptr, nullptr);
}
