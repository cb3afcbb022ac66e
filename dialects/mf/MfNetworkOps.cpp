//===- MfNetworkOps.cpp - Matrix, norm, attention, loss -------------------===//

#include "dialects/mf/MfOps.h"
#include "dialects/mf/ShapeFactors.h"

using namespace mlir;
using namespace mf::ir;

//===----------------------------------------------------------------------===//
// MatmulOp
//===----------------------------------------------------------------------===//

namespace {
/// The sizes of a matrix product, with its operands as they are stored.
struct MatmulShape {
  SmallVector<int64_t> batch;
  int64_t m, n, k, rhsK;

  MatmulShape(Value lhs, Value rhs, bool transposeA, bool transposeB) {
    ArrayRef<int64_t> a = getGlobalType(lhs).getShape();
    ArrayRef<int64_t> b = getGlobalType(rhs).getShape();
    batch.assign(a.begin(), a.end() - 2);
    m = a[a.size() - (transposeA ? 1 : 2)];
    k = a[a.size() - (transposeA ? 2 : 1)];
    n = b[b.size() - (transposeB ? 2 : 1)];
    rhsK = b[b.size() - (transposeB ? 1 : 2)];
  }

  SmallVector<int64_t> getResult(bool contractBatch) const {
    SmallVector<int64_t> shape;
    if (!contractBatch)
      shape = batch;
    shape.append({m, n});
    return shape;
  }
};
} // namespace

void MatmulOp::build(OpBuilder &builder, OperationState &state, Value lhs,
                     Value rhs, bool transposeA, bool transposeB,
                     bool contractBatch) {
  MatmulShape shape(lhs, rhs, transposeA, transposeB);
  build(builder, state,
        RankedTensorType::get(shape.getResult(contractBatch),
                              getGlobalType(lhs).getElementType()),
        lhs, rhs, transposeA, transposeB, contractBatch, nullptr, nullptr,
        nullptr);
}

LogicalResult MatmulOp::verify() {
  RankedTensorType lhs = getGlobalType(getLhs()), rhs = getGlobalType(getRhs());
  if (lhs.getRank() < 2 || rhs.getRank() < 2 ||
      lhs.getElementType() != rhs.getElementType())
    return emitOpError("expected matrices of one element type, but got ")
           << lhs << " and " << rhs;
  bool sharedRhs = rhs.getRank() == 2 && !getContractBatch();
  if (sharedRhs && lhs.getRank() > 2 && getTransposeA())
    return emitOpError("expected no transpose_a with a shared right operand");
  if (getContractBatch() && !getTransposeA())
    return emitOpError("expected transpose_a with contract_batch");
  if (!sharedRhs && lhs.getShape().drop_back(2) != rhs.getShape().drop_back(2))
    return emitOpError("expected equal leading dimensions, but got ")
           << lhs << " and " << rhs;
  MatmulShape shape(getLhs(), getRhs(), getTransposeA(), getTransposeB());
  if (shape.k != shape.rhsK)
    return emitOpError("sums over ") << shape.k << " elements on the left, but "
                                     << shape.rhsK << " on the right";
  auto expected = RankedTensorType::get(shape.getResult(getContractBatch()),
                                        lhs.getElementType());
  if (getGlobalType(getResult()) != expected)
    return emitOpError("expected a result of type ")
           << expected << ", but got " << getType();
  return success();
}

void MatmulOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                             ArrayRef<bool> needed,
                             MutableArrayRef<Value> operandGradients) {
  Value gradient = resultGradients.front();
  Value lhs = getLhs(), rhs = getRhs();
  bool transposeA = getTransposeA(), transposeB = getTransposeB();
  // For C = A B: dA = dC B^T and dB = A^T dC, each transposed if the operand is
  // stored so.
  if (needed[0])
    operandGradients[0] = transposeA
                              ? MatmulOp::create(builder, getLoc(), rhs,
                                                 gradient, transposeB, true)
                              : MatmulOp::create(builder, getLoc(), gradient,
                                                 rhs, false, !transposeB);
  if (!needed[1])
    return;
  bool shared =
      getGlobalType(rhs).getRank() == 2 && getGlobalType(lhs).getRank() > 2;
  operandGradients[1] = transposeB
                            ? MatmulOp::create(builder, getLoc(), gradient, lhs,
                                               true, transposeA, shared)
                            : MatmulOp::create(builder, getLoc(), lhs, gradient,
                                               !transposeA, false, shared);
}

//===----------------------------------------------------------------------===//
// RmsNormOp, LayerNormOp and SoftmaxOp
//===----------------------------------------------------------------------===//

/// Returns the type without its last dimension, in fp32.
static RankedTensorType getRowType(RankedTensorType type) {
  return RankedTensorType::get(type.getShape().drop_back(),
                               Float32Type::get(type.getContext()));
}

void RmsNormOp::build(OpBuilder &builder, OperationState &state, Value input,
                      Value gamma, double epsilon) {
  build(builder, state, input.getType(), getRowType(getGlobalType(input)),
        input, gamma, builder.getF64FloatAttr(epsilon), nullptr, nullptr,
        nullptr);
}

/// Checks that the number of factors of a norm equals the number of elements of
/// a row.
static LogicalResult verifyNormFactors(Operation *op, Value input,
                                       Value factors, StringRef name) {
  RankedTensorType type = getGlobalType(input),
                   factorType = getGlobalType(factors);
  if (type.getRank() < 1 || factorType.getRank() != 1 ||
      factorType.getDimSize(0) != type.getShape().back())
    return op->emitOpError("expected ")
           << name << " to be the last dimension of the input, but got "
           << factorType << " for " << type;
  return success();
}

LogicalResult RmsNormOp::verify() {
  RankedTensorType input = getGlobalType(getInput());
  if (failed(verifyNormFactors(*this, getInput(), getGamma(), "gamma")))
    return failure();
  if (getGlobalType(getRstd()) != getRowType(input))
    return emitOpError("expected rstd of type ")
           << getRowType(input) << ", but got " << getRstd().getType();
  return success();
}

void RmsNormOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                              ArrayRef<bool> needed,
                              MutableArrayRef<Value> operandGradients) {
  auto gradient = RmsNormGradOp::create(
      builder, getLoc(), TypeRange{getInput().getType(), getGamma().getType()},
      ValueRange{resultGradients.front(), getInput(), getRstd(), getGamma()});
  operandGradients[0] = gradient.getInputGradient();
  operandGradients[1] = gradient.getGammaGradient();
}

void LayerNormOp::build(OpBuilder &builder, OperationState &state, Value input,
                        Value weight, Value bias, double eps) {
  RankedTensorType rows = getRowType(getGlobalType(input));
  build(builder, state, input.getType(), rows, rows, input, weight, bias,
        builder.getF64FloatAttr(eps), nullptr, nullptr, nullptr);
}

LogicalResult LayerNormOp::verify() {
  if (failed(verifyNormFactors(*this, getInput(), getWeight(), "weight")))
    return failure();
  RankedTensorType rows = getRowType(getGlobalType(getInput()));
  if (getGlobalType(getMean()) != rows || getGlobalType(getRstd()) != rows)
    return emitOpError("expected mean and rstd of type ")
           << rows << ", but got " << getMean().getType() << " and "
           << getRstd().getType();
  return success();
}

void LayerNormOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                ArrayRef<bool> needed,
                                MutableArrayRef<Value> operandGradients) {
  SmallVector<Type> types = {getInput().getType()};
  if (needed[1] || needed[2])
    types.append(2, getWeight().getType());
  auto gradient =
      LayerNormGradOp::create(builder, getLoc(), types,
                              ValueRange{resultGradients.front(), getInput(),
                                         getMean(), getRstd(), getWeight()});
  llvm::copy(gradient.getResults(), operandGradients.begin());
}

LogicalResult LayerNormGradOp::verify() {
  TypeRange types = getFactorGradients().getTypes();
  if (types.empty() || (types.size() == 2 && llvm::all_equal(types) &&
                        types.front() == getWeight().getType()))
    return success();
  return emitOpError(
             "expected no gradients of weight and bias, or two of type ")
         << getWeight().getType() << ", but got " << types;
}

void SoftmaxOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                              ArrayRef<bool> needed,
                              MutableArrayRef<Value> operandGradients) {
  operandGradients[0] =
      SoftmaxGradOp::create(builder, getLoc(), getType(),
                            ValueRange{resultGradients.front(), getResult()});
}

//===----------------------------------------------------------------------===//
// Documents, prefixes and FlashAttentionOp
//===----------------------------------------------------------------------===//

LogicalResult DocumentStartsOp::verify() {
  if (getGlobalType(getTokens()).getRank() != 2)
    return emitOpError("expected tokens [batch, sequence], but got ")
           << getTokens().getType();
  return success();
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
  if (getGlobalType(getTokens()).getRank() != 2)
    return emitOpError("expected tokens [batch, sequence], but got ")
           << getTokens().getType();
  return success();
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

void FlashAttentionOp::build(OpBuilder &builder, OperationState &state,
                             Value query, Value key, Value value, double scale,
                             bool causal, Value slopes, Value firstQuery) {
  RankedTensorType type = getGlobalType(query);
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = getGlobalType(value).getShape().back();
  RankedTensorType rows = getRowType(type);
  build(builder, state, rows, rows,
        RankedTensorType::get(shape, type.getElementType()), query, key, value,
        firstQuery, slopes, /*dropMask=*/Value(), /*starts=*/Value(),
        builder.getF64FloatAttr(scale), builder.getBoolAttr(causal),
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
  if (Value slopes = getSlopes()) {
    auto expected = RankedTensorType::get({query.getDimSize(1)},
                                          Float32Type::get(getContext()));
    if (getGlobalType(slopes) != expected)
      return emitOpError("expected slopes of type ")
             << expected << ", one per query head, but got "
             << slopes.getType();
  }
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
  if (Value starts = getStarts()) {
    auto expected =
        RankedTensorType::get({query.getDimSize(0), query.getDimSize(2)},
                              IntegerType::get(getContext(), 32));
    if (getGlobalType(starts) != expected)
      return emitOpError("expected starts of type ")
             << expected << ", one per query row, but got " << starts.getType();
  }
  if (getGlobalType(getSoftmaxMax()) != getRowType(query) ||
      getGlobalType(getSoftmaxSum()) != getRowType(query))
    return emitOpError("expected softmax_max and softmax_sum of type ")
           << getRowType(query);
  SmallVector<int64_t> shape(query.getShape());
  shape.back() = value.getDimSize(3);
  auto expected = RankedTensorType::get(shape, query.getElementType());
  if (getGlobalType(getResult()) != expected)
    return emitOpError("expected a result of type ")
           << expected << ", but got " << getResult().getType();
  return success();
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

//===----------------------------------------------------------------------===//
// RotaryPositionEmbeddingOp and SwiGluOp
//===----------------------------------------------------------------------===//

LogicalResult RotaryPositionEmbeddingOp::verify() {
  RankedTensorType input = getGlobalType(getInput()),
                   table = getGlobalType(getCosine());
  if (table.getElementType() != input.getElementType() &&
      !table.getElementType().isF32())
    return emitOpError("expected tables of ")
           << input.getElementType() << " or f32, but got " << table;
  bool fits = input.getRank() >= 1 && input.getShape().back() % 2 == 0 &&
              table.getRank() <= input.getRank() && table.getRank() >= 1 &&
              table.getShape().back() == input.getShape().back();
  if (fits)
    for (auto [own, whole] : llvm::zip(
             table.getShape(), input.getShape().take_back(table.getRank())))
      fits &= own == whole || own == 1;
  if (fits)
    return success();
  return emitOpError("expected tables of the trailing dimensions of the "
                     "input, the last of them even, but got ")
         << table << " for " << input;
}

void RotaryPositionEmbeddingOp::buildGradient(
    OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGradients) {
  Value gradient = resultGradients.front();
  operandGradients[0] = RotaryPositionEmbeddingGradOp::create(
      builder, getLoc(), gradient.getType(),
      ValueRange{gradient, getCosine(), getSine()});
}

/// Returns the type without the dimension that separates gate and up
/// projection.
static RankedTensorType getGatedType(RankedTensorType input) {
  SmallVector<int64_t> shape(input.getShape());
  shape.erase(shape.end() - 2);
  return RankedTensorType::get(shape, input.getElementType());
}

void SwiGluOp::build(OpBuilder &builder, OperationState &state, Value input) {
  build(builder, state, getGatedType(getGlobalType(input)), input, nullptr,
        nullptr, nullptr);
}

LogicalResult SwiGluOp::verify() {
  RankedTensorType input = getGlobalType(getInput());
  if (input.getRank() < 2 || input.getDimSize(input.getRank() - 2) != 2)
    return emitOpError("expected gate and up projection as the two rows of the "
                       "last two dimensions, but got ")
           << input;
  if (getGlobalType(getResult()) != getGatedType(input))
    return emitOpError("expected a result of type ")
           << getGatedType(input) << ", but got " << getType();
  return success();
}

void SwiGluOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                             ArrayRef<bool> needed,
                             MutableArrayRef<Value> operandGradients) {
  operandGradients[0] =
      SwiGluGradOp::create(builder, getLoc(), getInput().getType(),
                           ValueRange{resultGradients.front(), getInput()});
}
