//===- MfNetworkOps.cpp - Matrix products, norms, activations -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/MfOps.h"

using namespace mlir;
using namespace mf::ir;

LogicalResult mf::ir::verifyType(Operation *op, Value value,
                                 RankedTensorType expected, StringRef what,
                                 StringRef reason) {
  if (getGlobalType(value) == expected)
    return success();
  return op->emitOpError("expected ")
         << what << " of type " << expected << reason << ", but got "
         << value.getType();
}

RankedTensorType mf::ir::withLast(RankedTensorType type, int64_t size) {
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = size;
  return type.clone(shape);
}

RankedTensorType mf::ir::getRowType(RankedTensorType type) {
  return RankedTensorType::get(type.getShape().drop_back(),
                               Float32Type::get(type.getContext()));
}

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
        getGlobalType(lhs).clone(shape.getResult(contractBatch)), lhs, rhs,
        transposeA, transposeB, contractBatch, nullptr, nullptr, nullptr);
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
  return verifyType(*this, getResult(),
                    lhs.clone(shape.getResult(getContractBatch())));
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
  if (failed(verifyNormFactors(*this, getInput(), getGamma(), "gamma")))
    return failure();
  return verifyType(*this, getRstd(), getRowType(getGlobalType(getInput())),
                    "rstd");
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

void SinkhornOp::build(OpBuilder &builder, OperationState &state, Value input,
                       int64_t iterations, double epsilon) {
  build(builder, state, input.getType(), input,
        builder.getI64IntegerAttr(iterations), builder.getF64FloatAttr(epsilon),
        nullptr, nullptr, nullptr);
}

LogicalResult SinkhornOp::verify() {
  ArrayRef<int64_t> shape = getGlobalType(getInput()).getShape();
  if (shape.size() < 2 || shape.back() != shape[shape.size() - 2])
    return emitOpError("expected square matrices in the last two dimensions, "
                       "but got ")
           << getInput().getType();
  if (static_cast<int64_t>(getIterations()) < 0)
    return emitOpError("expected at least 0 iterations");
  return success();
}

void SinkhornOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                               ArrayRef<bool> needed,
                               MutableArrayRef<Value> operandGradients) {
  Value gradient = resultGradients.front();
  operandGradients[0] = SinkhornGradOp::create(
      builder, getLoc(), gradient.getType(), gradient, getInput(),
      getIterationsAttr(), getEpsilonAttr(), nullptr, nullptr, nullptr);
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
  bool fits = input.getRank() >= 1 && table.getRank() <= input.getRank() &&
              table.getRank() >= 1 && table.getShape().back() % 2 == 0 &&
              table.getShape().back() <= input.getShape().back();
  if (fits)
    for (auto [own, whole] : llvm::drop_end(llvm::zip_equal(
             table.getShape(), input.getShape().take_back(table.getRank()))))
      fits &= own == whole || own == 1;
  if (!fits)
    return emitOpError("expected tables of the trailing dimensions of the "
                       "input, the last of them even and at most as large, but "
                       "got ")
           << table << " for " << input;
  const int64_t others = input.getShape().back() - table.getShape().back();
  const auto start = static_cast<int64_t>(getStart().value_or(0));
  if (start < 0 || start > others)
    return emitOpError("expected a start from 0 to ")
           << others << ", which leaves room for " << table.getShape().back()
           << " of " << input.getShape().back() << " elements, but got "
           << start;
  return success();
}

void RotaryPositionEmbeddingOp::build(OpBuilder &builder, OperationState &state,
                                      Value input, Value cosine, Value sine,
                                      bool interleaved, int64_t start) {
  build(builder, state, input.getType(), input, cosine, sine,
        interleaved ? builder.getBoolAttr(true) : BoolAttr(),
        start != 0 ? builder.getI64IntegerAttr(start) : IntegerAttr(), nullptr,
        nullptr, nullptr);
}

void RotaryPositionEmbeddingOp::buildGradient(
    OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGradients) {
  Value gradient = resultGradients.front();
  operandGradients[0] = RotaryPositionEmbeddingGradOp::create(
      builder, getLoc(), gradient.getType(), gradient, getCosine(), getSine(),
      getInterleavedAttr(), getStartAttr(), nullptr, nullptr, nullptr);
}

/// Returns the type without the dimension that separates gate and up
/// projection.
static RankedTensorType getGatedType(RankedTensorType input) {
  SmallVector<int64_t> shape(input.getShape());
  shape.erase(shape.end() - 2);
  return input.clone(shape);
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
  return verifyType(*this, getResult(), getGatedType(input));
}

void SwiGluOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                             ArrayRef<bool> needed,
                             MutableArrayRef<Value> operandGradients) {
  operandGradients[0] =
      SwiGluGradOp::create(builder, getLoc(), getInput().getType(),
                           ValueRange{resultGradients.front(), getInput()});
}
