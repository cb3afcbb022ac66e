//===- MfShapeOps.cpp - Operators that move elements ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/MfOps.h"

using namespace mlir;
using namespace mf::ir;

/// Checks that the result has `shape` and the input's element type.
static LogicalResult verifyResult(Operation *op, ArrayRef<int64_t> shape) {
  return verifyType(op, op->getResult(0),
                    getGlobalType(op->getOperand(0)).clone(shape));
}

/// Checks that an attribute has one entry per dimension of the input.
static LogicalResult verifyRank(Operation *op, ArrayRef<int64_t> entries,
                                StringRef what) {
  int64_t rank = getGlobalType(op->getOperand(0)).getRank();
  if (static_cast<int64_t>(entries.size()) != rank)
    return op->emitOpError("expected ")
           << rank << " " << what << ", one per dimension, but got "
           << entries.size();
  return success();
}

/// Checks that the input has a dimension `axis`.
static LogicalResult verifyAxis(Operation *op, int64_t axis) {
  int64_t rank = getGlobalType(op->getOperand(0)).getRank();
  if (axis >= 0 && axis < rank)
    return success();
  return op->emitOpError("expected an axis below ")
         << rank << ", but got " << axis;
}

//===----------------------------------------------------------------------===//
// ReshapeOp
//===----------------------------------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  RankedTensorType from = getGlobalType(getInput()),
                   to = getGlobalType(getResult());
  if (from.getElementType() != to.getElementType() ||
      from.getNumElements() != to.getNumElements())
    return emitOpError("expected as many elements of the same type, but got ")
           << from << " and " << to;
  return success();
}

void ReshapeOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                              ArrayRef<bool> needed,
                              MutableArrayRef<Value> operandGradients) {
  operandGradients[0] = ReshapeOp::create(
      builder, getLoc(), getInput().getType(), resultGradients.front());
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  return {};
}

//===----------------------------------------------------------------------===//
// TransposeOp
//===----------------------------------------------------------------------===//

void TransposeOp::build(OpBuilder &builder, OperationState &state, Value input,
                        ArrayRef<int64_t> perm) {
  SmallVector<int64_t> shape;
  for (int64_t dimension : perm)
    shape.push_back(getGlobalType(input).getDimSize(dimension));
  build(builder, state, getGlobalType(input).clone(shape), input, perm, nullptr,
        nullptr, nullptr);
}

LogicalResult TransposeOp::verify() {
  if (failed(verifyRank(*this, getPerm(), "dimensions in perm")))
    return failure();
  SmallVector<bool> seen(getPerm().size(), false);
  SmallVector<int64_t> shape;
  for (int64_t dimension : getPerm()) {
    if (dimension < 0 || dimension >= static_cast<int64_t>(seen.size()) ||
        seen[dimension])
      return emitOpError("expected perm to name each dimension once");
    seen[dimension] = true;
    shape.push_back(getGlobalType(getInput()).getDimSize(dimension));
  }
  return verifyResult(*this, shape);
}

void TransposeOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                ArrayRef<bool> needed,
                                MutableArrayRef<Value> operandGradients) {
  SmallVector<int64_t> inverse(getPerm().size());
  for (auto [index, dimension] : llvm::enumerate(getPerm()))
    inverse[dimension] = static_cast<int64_t>(index);
  operandGradients[0] =
      TransposeOp::create(builder, getLoc(), resultGradients.front(), inverse);
}

//===----------------------------------------------------------------------===//
// SliceOp and PadOp
//===----------------------------------------------------------------------===//

void SliceOp::build(OpBuilder &builder, OperationState &state, Value input,
                    ArrayRef<int64_t> starts, ArrayRef<int64_t> sizes) {
  build(builder, state, getGlobalType(input).clone(sizes), input, starts, sizes,
        nullptr, nullptr, nullptr);
}

LogicalResult SliceOp::verify() {
  if (failed(verifyRank(*this, getStarts(), "starts")) ||
      failed(verifyRank(*this, getSizes(), "sizes")))
    return failure();
  for (auto [axis, start] : llvm::enumerate(getStarts())) {
    int64_t size = getSizes()[axis];
    int64_t extent = getGlobalType(getInput()).getDimSize(axis);
    if (start < 0 || size < 0 || start > extent || size > extent - start)
      return emitOpError("reads ")
             << size << " elements from " << start << " of dimension " << axis
             << ", which has " << extent;
  }
  return verifyResult(*this, getSizes());
}

void SliceOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                            ArrayRef<bool> needed,
                            MutableArrayRef<Value> operandGradients) {
  SmallVector<int64_t> high;
  for (auto [axis, start] : llvm::enumerate(getStarts()))
    high.push_back(getGlobalType(getInput()).getDimSize(axis) - start -
                   getSizes()[axis]);
  operandGradients[0] = PadOp::create(
      builder, getLoc(), resultGradients.front(), getStarts(), high);
}

void PadOp::build(OpBuilder &builder, OperationState &state, Value input,
                  ArrayRef<int64_t> low, ArrayRef<int64_t> high,
                  int64_t value) {
  SmallVector<int64_t> shape;
  for (auto [axis, extent] : llvm::enumerate(getGlobalType(input).getShape()))
    shape.push_back(low[axis] + extent + high[axis]);
  build(builder, state, getGlobalType(input).clone(shape), input, low, high,
        value ? builder.getI64IntegerAttr(value) : nullptr, nullptr, nullptr,
        nullptr);
}

LogicalResult PadOp::verify() {
  if (failed(verifyRank(*this, getLow(), "entries in low")) ||
      failed(verifyRank(*this, getHigh(), "entries in high")))
    return failure();
  SmallVector<int64_t> shape;
  for (auto [axis, extent] :
       llvm::enumerate(getGlobalType(getInput()).getShape())) {
    if (getLow()[axis] < 0 || getHigh()[axis] < 0)
      return emitOpError("expected no negative padding");
    shape.push_back(getLow()[axis] + extent + getHigh()[axis]);
  }
  return verifyResult(*this, shape);
}

void PadOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                          ArrayRef<bool> needed,
                          MutableArrayRef<Value> operandGradients) {
  operandGradients[0] =
      SliceOp::create(builder, getLoc(), resultGradients.front(), getLow(),
                      getGlobalType(getInput()).getShape());
}

//===----------------------------------------------------------------------===//
// ConcatOp
//===----------------------------------------------------------------------===//

void ConcatOp::build(OpBuilder &builder, OperationState &state,
                     ValueRange inputs, int64_t axis) {
  SmallVector<int64_t> shape(getGlobalType(inputs.front()).getShape());
  shape[axis] = 0;
  for (Value input : inputs)
    shape[axis] += getGlobalType(input).getDimSize(axis);
  build(builder, state, getGlobalType(inputs.front()).clone(shape), inputs,
        builder.getI64IntegerAttr(axis), nullptr, nullptr, nullptr);
}

LogicalResult ConcatOp::verify() {
  if (getInputs().empty())
    return emitOpError("expected at least one input");
  RankedTensorType first = getGlobalType(getInputs().front());
  auto axis = static_cast<int64_t>(getAxis());
  if (failed(verifyAxis(*this, axis)))
    return failure();
  SmallVector<int64_t> shape(first.getShape());
  shape[axis] = 0;
  for (Value input : getInputs()) {
    RankedTensorType type = getGlobalType(input);
    if (type.getRank() != first.getRank() ||
        type.getElementType() != first.getElementType())
      return emitOpError("expected inputs of one rank and element type, but "
                         "got ")
             << first << " and " << type;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (dim != axis && type.getDimSize(dim) != first.getDimSize(dim))
        return emitOpError("expected inputs that differ only in dimension ")
               << axis << ", but got " << first << " and " << type;
    shape[axis] += type.getDimSize(axis);
  }
  return verifyResult(*this, shape);
}

void ConcatOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                             ArrayRef<bool> needed,
                             MutableArrayRef<Value> operandGradients) {
  SmallVector<int64_t> starts(getGlobalType(getResult()).getRank(), 0);
  for (auto [index, input] : llvm::enumerate(getInputs())) {
    if (needed[index])
      operandGradients[index] =
          SliceOp::create(builder, getLoc(), resultGradients.front(), starts,
                          getGlobalType(input).getShape());
    starts[getAxis()] += getGlobalType(input).getDimSize(getAxis());
  }
}

//===----------------------------------------------------------------------===//
// SplitOp
//===----------------------------------------------------------------------===//

SmallVector<int64_t> SplitOp::getOffsets() {
  SmallVector<int64_t> offsets;
  int64_t offset = 0;
  for (Value part : getParts()) {
    offsets.push_back(offset);
    offset += getGlobalType(part).getDimSize(getAxis());
  }
  return offsets;
}

LogicalResult SplitOp::verify() {
  RankedTensorType input = getGlobalType(getInput());
  auto axis = static_cast<int64_t>(getAxis());
  if (failed(verifyAxis(*this, axis)))
    return failure();
  int64_t sum = 0;
  for (Value part : getParts()) {
    RankedTensorType type = getGlobalType(part);
    SmallVector<int64_t> shape(input.getShape());
    if (type.getRank() == input.getRank())
      shape[axis] = type.getDimSize(axis);
    if (type != input.clone(shape))
      return emitOpError("expected parts that differ from ")
             << input << " only in dimension " << axis << ", but got " << type;
    sum += shape[axis];
  }
  if (sum != input.getDimSize(axis))
    return emitOpError("has parts of ")
           << sum << " elements in dimension " << axis << ", which has "
           << input.getDimSize(axis);
  return success();
}

bool SplitOp::isView() { return false; }

bool SplitOp::isDifferentiable(unsigned result) { return true; }

void SplitOp::emitInstructions(LaunchEmitter &emitter) {
  EmittedBuffer input = emitter.getBuffer(getInput());
  Builder builder(getContext());
  SmallVector<int64_t> starts(getGlobalType(getInput()).getRank(), 0);
  for (auto [part, offset] : llvm::zip_equal(getParts(), getOffsets())) {
    starts[getAxis()] = offset;
    NamedAttrList attributes;
    attributes.set("starts", builder.getDenseI64ArrayAttr(starts));
    attributes.set(
        "sizes", builder.getDenseI64ArrayAttr(getGlobalType(part).getShape()));
    emitter.launch("aclnnSliceV2", input, emitter.createBuffer(part),
                   attributes.getDictionary(getContext()));
  }
}

void SplitOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                            ArrayRef<bool> needed,
                            MutableArrayRef<Value> operandGradients) {
  RankedTensorType input = getGlobalType(getInput());
  SmallVector<int64_t> low(input.getRank(), 0), high(low);
  SmallVector<int64_t> offsets = getOffsets();
  const int64_t extent = input.getDimSize(getAxis());
  // The gradients of parts that have none are zeros.
  SmallVector<Value> gradients;
  int64_t covered = 0;
  for (auto [index, gradient] : llvm::enumerate(resultGradients)) {
    if (!gradient)
      continue;
    const bool isLast = llvm::none_of(resultGradients.drop_front(index + 1),
                                      [](Value v) { return bool(v); });
    const int64_t size = getGlobalType(gradient).getDimSize(getAxis());
    low[getAxis()] = offsets[index] - covered;
    high[getAxis()] = isLast ? extent - offsets[index] - size : 0;
    covered = offsets[index] + size;
    Value padded = gradient;
    if (low[getAxis()] != 0 || high[getAxis()] != 0)
      padded = PadOp::create(builder, getLoc(), gradient, low, high);
    gradients.push_back(padded);
  }
  operandGradients[0] =
      gradients.size() == 1
          ? gradients.front()
          : Value(ConcatOp::create(builder, getLoc(), gradients,
                                   static_cast<int64_t>(getAxis())));
}

//===----------------------------------------------------------------------===//
// RepeatOp and ReduceSumOp
//===----------------------------------------------------------------------===//

void RepeatOp::build(OpBuilder &builder, OperationState &state, Value input,
                     int64_t axis, int64_t repeats) {
  SmallVector<int64_t> shape(getGlobalType(input).getShape());
  shape[axis] *= repeats;
  build(builder, state, getGlobalType(input).clone(shape), input,
        builder.getI64IntegerAttr(axis), builder.getI64IntegerAttr(repeats),
        nullptr, nullptr, nullptr);
}

LogicalResult RepeatOp::verify() {
  RankedTensorType input = getGlobalType(getInput());
  auto axis = static_cast<int64_t>(getAxis());
  if (axis < 0 || axis >= input.getRank() || (int64_t)getRepeats() < 1)
    return emitOpError("expected an axis below ")
           << input.getRank() << " and at least one repeat";
  SmallVector<int64_t> shape(input.getShape());
  shape[axis] *= static_cast<int64_t>(getRepeats());
  return verifyResult(*this, shape);
}

void RepeatOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                             ArrayRef<bool> needed,
                             MutableArrayRef<Value> operandGradients) {
  RankedTensorType input = getGlobalType(getInput());
  auto axis = static_cast<int64_t>(getAxis());
  SmallVector<int64_t> shape(input.getShape());
  shape.insert(shape.begin() + axis + 1, static_cast<int64_t>(getRepeats()));
  Value grouped = ReshapeOp::create(builder, getLoc(), input.clone(shape),
                                    resultGradients.front());
  operandGradients[0] =
      ReduceSumOp::create(builder, getLoc(), grouped, axis + 1);
}

static SmallVector<int64_t> getReducedShape(ArrayRef<int64_t> shape,
                                            ArrayRef<int64_t> axes) {
  SmallVector<int64_t> reduced;
  for (auto [axis, extent] : llvm::enumerate(shape))
    if (!llvm::is_contained(axes, static_cast<int64_t>(axis)))
      reduced.push_back(extent);
  return reduced;
}

static RankedTensorType getReducedType(Value input, ArrayRef<int64_t> axes) {
  RankedTensorType type = getGlobalType(input);
  return type.clone(getReducedShape(type.getShape(), axes));
}

/// Verifies an mf.reduce_sum or mf.reduce_max.
template <typename ReductionOp>
static LogicalResult verifyReduction(ReductionOp op) {
  RankedTensorType input = getGlobalType(op.getInput());
  for (int64_t axis : op.getAxes())
    if (axis < 0 || axis >= input.getRank())
      return op.emitOpError("expected axes below ")
             << input.getRank() << ", but got " << axis;
  return verifyResult(op, getReducedShape(input.getShape(), op.getAxes()));
}

void ReduceSumOp::build(OpBuilder &builder, OperationState &state, Value input,
                        ArrayRef<int64_t> axes) {
  build(builder, state, getReducedType(input, axes), input, axes, nullptr,
        nullptr, nullptr);
}

LogicalResult ReduceSumOp::verify() { return verifyReduction(*this); }

void ReduceMaxOp::build(OpBuilder &builder, OperationState &state, Value input,
                        ArrayRef<int64_t> axes) {
  build(builder, state, getReducedType(input, axes), input, axes, nullptr,
        nullptr, nullptr);
}

LogicalResult ReduceMaxOp::verify() { return verifyReduction(*this); }

/// Each element of the gradient is copied to all places from which it was
/// summed.
void ReduceSumOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                ArrayRef<bool> needed,
                                MutableArrayRef<Value> operandGradients) {
  RankedTensorType input = getGlobalType(getInput());
  SmallVector<int64_t> shape(input.getShape());
  for (int64_t axis : getAxes())
    shape[axis] = 1;
  Value gradient = ReshapeOp::create(builder, getLoc(), input.clone(shape),
                                     resultGradients.front());
  for (int64_t axis : getAxes())
    if (input.getDimSize(axis) != 1)
      gradient = RepeatOp::create(builder, getLoc(), gradient, axis,
                                  input.getDimSize(axis));
  operandGradients[0] = gradient;
}
