//===- MfHyperConnectionOps.cpp - Several residual streams ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/MfOps.h"

using namespace mlir;
using namespace mf::ir;

/// Returns an fp32 type of other dimensions than the last one of `type`, with
/// `last` in its place, behind `first`.
static RankedTensorType getTokenType(RankedTensorType type,
                                     ArrayRef<int64_t> last,
                                     ArrayRef<int64_t> first = {}) {
  SmallVector<int64_t> shape(first);
  llvm::append_range(shape, type.getShape().drop_back());
  llvm::append_range(shape, last);
  return RankedTensorType::get(shape, Float32Type::get(type.getContext()));
}

/// Returns [batch, sequence, hidden] of streams.
static RankedTensorType getHiddenType(RankedTensorType streams, int64_t count) {
  return withLast(streams, streams.getShape().back() / count);
}

/// Checks that streams are [batch, sequence, count * hidden].
static LogicalResult verifyStreams(Operation *op, Value value, int64_t count) {
  RankedTensorType streams = getGlobalType(value);
  if (streams.getRank() == 3 && count >= 1 &&
      streams.getShape().back() % count == 0)
    return success();
  return op->emitOpError("expected ")
         << count << " streams [batch, sequence, streams * hidden], but got "
         << streams;
}

//===----------------------------------------------------------------------===//
// MhcPreOp
//===----------------------------------------------------------------------===//

/// Returns the types of the results, in their order.
static SmallVector<Type> getPreTypes(Value value, int64_t count,
                                     int64_t iterations) {
  RankedTensorType streams = getGlobalType(value);
  const int64_t halves = 2 * std::max<int64_t>(iterations, 1);
  return {getHiddenType(streams, count),
          getTokenType(streams, {count}),
          getTokenType(streams, {count, count}),
          getTokenType(streams, {count}),
          getTokenType(streams, {count * (count + 2)}),
          getTokenType(streams, {}),
          getTokenType(streams, {count}, {halves}),
          getTokenType(streams, {count, count}, {halves})};
}

void MhcPreOp::build(OpBuilder &builder, OperationState &state, Value streams,
                     Value weight, Value factors, Value bias, int64_t count,
                     int64_t iterations, double least, double epsilon) {
  build(builder, state, getPreTypes(streams, count, iterations),
        ValueRange{streams, weight, factors, bias});
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.count = builder.getI64IntegerAttr(count);
  properties.iterations = builder.getI64IntegerAttr(iterations);
  properties.least = builder.getF64FloatAttr(least);
  properties.epsilon = builder.getF64FloatAttr(epsilon);
}

LogicalResult MhcPreOp::verify() {
  const auto count = static_cast<int64_t>(getCount()),
             iterations = static_cast<int64_t>(getIterations());
  if (failed(verifyStreams(*this, getStreams(), count)))
    return failure();
  if (iterations < 0)
    return emitOpError("expected at least 0 iterations");
  const int64_t numbers = count * (count + 2),
                width = getGlobalType(getStreams()).getShape().back();
  Type wide = Float32Type::get(getContext());
  auto check = [&](Value value, ArrayRef<int64_t> shape, StringRef what) {
    return verifyType(*this, value, RankedTensorType::get(shape, wide), what);
  };
  if (failed(check(getWeight(), {numbers, width}, "a weight")) ||
      failed(check(getFactors(), {3}, "factors")) ||
      failed(check(getBias(), {numbers}, "a bias")))
    return failure();
  for (auto [result, type] : llvm::zip_equal(
           getResults(), getPreTypes(getStreams(), count, iterations)))
    if (failed(verifyType(*this, result, cast<RankedTensorType>(type))))
      return failure();
  return success();
}

bool MhcPreOp::isDifferentiable(unsigned result) { return result < 3; }

/// Returns a gradient, or zeros if no loss depends on the result.
static Value getGradientOrZeros(OpBuilder &builder, Value gradient,
                                Value result) {
  if (gradient)
    return gradient;
  return ScaleOp::create(builder, result.getLoc(), result.getType(), result,
                         builder.getF64FloatAttr(0), nullptr, nullptr, nullptr)
      .getResult();
}

void MhcPreOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                             ArrayRef<bool> needed,
                             MutableArrayRef<Value> operandGradients) {
  SmallVector<Value> inputs;
  for (unsigned i = 0; i < 3; ++i)
    inputs.push_back(
        getGradientOrZeros(builder, resultGradients[i], getResults()[i]));
  auto gradient = MhcPreGradOp::create(
      builder, getLoc(), getStreams().getType(), getWeight().getType(),
      getFactors().getType(), getBias().getType(), inputs[0], inputs[1],
      inputs[2], getStreams(), getWeight(), getFactors(), getBias(), getReads(),
      getProjected(), getRstd(), getSums(), getMatrices(), getLeastAttr(),
      nullptr, nullptr, nullptr);
  llvm::copy(gradient.getResults(), operandGradients.begin());
}

//===----------------------------------------------------------------------===//
// MhcPostOp
//===----------------------------------------------------------------------===//

LogicalResult MhcPostOp::verify() {
  RankedTensorType streams = getGlobalType(getStreams()),
                   shares = getGlobalType(getShares());
  const int64_t count = shares.getRank() > 0 ? shares.getShape().back() : 0;
  if (failed(verifyStreams(*this, getStreams(), count)))
    return failure();
  if (failed(verifyType(*this, getMixing(),
                        getTokenType(streams, {count, count}), "matrices")) ||
      failed(verifyType(*this, getShares(), getTokenType(streams, {count}),
                        "shares")))
    return failure();
  return verifyType(*this, getOutput(), getHiddenType(streams, count),
                    "a layer's result");
}

void MhcPostOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                              ArrayRef<bool> needed,
                              MutableArrayRef<Value> operandGradients) {
  auto gradient = MhcPostGradOp::create(
      builder, getLoc(), getStreams().getType(), getMixing().getType(),
      getOutput().getType(), getShares().getType(), resultGradients.front(),
      getStreams(), getMixing(), getOutput(), getShares(), nullptr, nullptr,
      nullptr);
  llvm::copy(gradient.getResults(), operandGradients.begin());
}
