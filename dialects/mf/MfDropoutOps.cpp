//===- MfDropoutOps.cpp - Dropout -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/MfOps.h"
#include "dialects/mf/ShapeFactors.h"
#include "mf/Program/Signatures/KernelSignature.h"
#include "mf/Support/Philox.h"

using namespace mlir;
using mf::DType;
using mf::Engine;
using mf::KernelSpec;
using namespace mf::ir;

static constexpr StringLiteral maskKernel = "aclnnDropoutGenMask";

LogicalResult mf::ir::verifyDropRate(Operation *op,
                                     const llvm::APFloat &value) {
  const double rate = value.convertToDouble();
  const bool isShare = rate > 0 && rate < 1; // NaN is not.
  if (!isShare)
    return op->emitOpError("expected a rate above 0 and below 1, but got ")
           << rate;
  return success();
}

/// Checks that a mask has a bit for each element of a tensor of `shape`, which
/// is that of the input or derived from it, and checks the rate.
template <typename Op>
static LogicalResult verifyDropout(Op op, ArrayRef<int64_t> shape) {
  if (getShape(op.getMask()) != shape)
    return op.emitOpError("expected a mask of the shape of ")
           << op.getInput().getType() << ", but got " << op.getMask().getType();
  return verifyDropRate(op, op.getRate());
}

/// Returns the shape of the mask for `input`.
static SmallVector<int64_t> getMaskShape(Value input, int64_t columns) {
  SmallVector<int64_t> shape(mf::ir::getShape(input));
  if (columns != 0 && !shape.empty())
    shape.back() = columns;
  return shape;
}

//===----------------------------------------------------------------------===//
// DropoutMaskOp
//===----------------------------------------------------------------------===//

void DropoutMaskOp::build(OpBuilder &builder, OperationState &state,
                          Value input, Value draw, double rate,
                          StringRef source, int64_t columns) {
  SmallVector<int64_t> shape = getMaskShape(input, columns);
  SmallVector<int64_t> starts(shape.size(), 0);
  build(builder, state, RankedTensorType::get(shape, builder.getI1Type()),
        input, draw, ValueRange(), builder.getF64FloatAttr(rate),
        builder.getStringAttr(source), builder.getDenseI64ArrayAttr(shape),
        builder.getDenseI64ArrayAttr(starts), builder.getDenseI64ArrayAttr({}),
        columns == 0 ? IntegerAttr() : builder.getI64IntegerAttr(columns),
        nullptr, nullptr, nullptr);
}

LogicalResult DropoutMaskOp::verify() {
  ArrayRef<int64_t> own = mf::ir::getShape(getMask());
  if (failed(verifyDropout(
          *this, getMaskShape(getInput(),
                              static_cast<int64_t>(getColumns().value_or(0))))))
    return failure();
  if (cast<RankedTensorType>(getDraw().getType()).dropEncoding() !=
      getDrawType(getContext()))
    return emitOpError("expected a draw of type ")
           << getDrawType(getContext()) << ", but got " << getDraw().getType();
  if (getShape().size() != own.size() || getStarts().size() != own.size())
    return emitOpError("expected a size of the whole and a start for each of ")
           << own.size() << " dimensions";
  for (auto [start, size, whole] :
       llvm::zip_equal(getStarts(), own, getShape()))
    if (start < 0 || start > whole - size)
      return emitOpError("expected ") << size << " elements from " << start
                                      << " on to be part of " << whole;
  if (getFirsts().size() != getCutDims().size())
    return emitOpError("expected as many first indices as cut dimensions");
  int64_t last = -1;
  for (auto [first, dim] : llvm::zip_equal(getFirsts(), getCutDims())) {
    if (dim <= last || dim >= static_cast<int64_t>(own.size()))
      return emitOpError("expected cut dimensions in ascending order below ")
             << own.size();
    last = dim;
    if (failed(verifyPosition(*this, first)))
      return failure();
  }
  return success();
}

bool DropoutMaskOp::isView() { return false; }
bool DropoutMaskOp::mayRecompute() { return false; }
Engine DropoutMaskOp::getEngine() { return getKernelEngine(maskKernel); }

/// Counts FLOPs by the kernel's record.
int64_t DropoutMaskOp::getFlops() {
  KernelSpec spec;
  spec.name = maskKernel.str();
  spec.outputs = {{DType::I1, llvm::to_vector<4>(mf::ir::getShape(getMask()))}};
  return findKernelSignature(maskKernel)->getFlops(spec);
}

DictionaryAttr DropoutMaskOp::getKernelAttributes() {
  Builder builder(getContext());
  NamedAttrList attributes;
  attributes.set("rate", getRateAttr());
  attributes.set("key", builder.getI64IntegerAttr(
                            static_cast<int64_t>(hashDrawnName(getSource()))));
  attributes.set("shape", getShapeAttr());
  attributes.set("starts", getStartsAttr());
  attributes.set("cut_dims", getCutDimsAttr());
  return attributes.getDictionary(getContext());
}

/// The input is not an operand of the launch, so that its memory may be reused.
void DropoutMaskOp::emitInstructions(LaunchEmitter &emitter) {
  SmallVector<EmittedBuffer> inputs = {emitter.getBuffer(getDraw())};
  for (Value first : getFirsts())
    inputs.push_back(emitter.getBuffer(first));
  emitter.launch(maskKernel, inputs, emitter.createBuffer(getMask()),
                 getKernelAttributes());
}

FailureOr<ShardingRule> DropoutMaskOp::getShardingRule() {
  ShardingRule rule;
  rule.results = {
      addFactors(rule, FactorKind::Pass, mf::ir::getShape(getMask()))};
  rule.operands = rule.results;
  // The columns are independent of the input's last dimension.
  if (getColumns())
    rule.operands[0].back() = {
        rule.addFactor(FactorKind::Whole, mf::ir::getShape(getInput()).back())};
  for (Value whole : getOperands().drop_front())
    rule.operands.push_back(
        addFactors(rule, FactorKind::Whole, mf::ir::getShape(whole)));
  rule.dependsOnPlace = true;
  return rule;
}

void DropoutMaskOp::localize(ArrayRef<Layout> operands,
                             ArrayRef<Layout> results, LocalTables &tables) {
  SmallVector<int64_t> dims;
  for (auto [dim, axes] : llvm::enumerate(operands[0].cuts)) {
    if (axes.empty())
      continue;
    dims.push_back(static_cast<int64_t>(dim));
    getFirstsMutable().append(
        tables.getFirstIndex(*this, axes, mf::ir::getShape(getMask())[dim]));
  }
  if (!dims.empty())
    setCutDims(dims);
}

/// A piece of the sequence is one of several parts of the same size. Keys after
/// its last query do not exist yet, and have no columns.
void DropoutMaskOp::takePiece(WholeOperands &whole) {
  SmallVector<int64_t> own(mf::ir::getShape(getMask())), starts;
  for (auto [size, all] : llvm::zip_equal(own, getShape()))
    starts.push_back(size == all ? 0 : whole.getPiece() * size);
  setStarts(starts);
  if (!getColumns() || own.size() < 2)
    return;
  const size_t rows = own.size() - 2;
  const int64_t later = getShape()[rows] - starts[rows] - own[rows];
  own.back() -= later;
  setColumns(own.back());
  getMask().setType(
      RankedTensorType::get(own, getMask().getType().getElementType()));
}

//===----------------------------------------------------------------------===//
// DropoutOp
//===----------------------------------------------------------------------===//

void DropoutOp::build(OpBuilder &builder, OperationState &state, Value input,
                      Value mask, double rate) {
  build(builder, state, input.getType(), input, mask, llvm::APFloat(rate),
        nullptr, nullptr, nullptr);
}

LogicalResult DropoutOp::verify() {
  return verifyDropout(*this, mf::ir::getShape(getInput()));
}

void DropoutOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                              ArrayRef<bool> needed,
                              MutableArrayRef<Value> operandGradients) {
  operandGradients[0] =
      DropoutOp::create(builder, getLoc(), resultGradients.front(), getMask(),
                        getRate().convertToDouble());
}

/// Summands must be reduced over ranks before dropout, as in MindSpore's
/// layers.
FailureOr<ShardingRule> DropoutOp::getShardingRule() {
  FailureOr<ShardingRule> rule = getKernelShardingRule(*this);
  if (failed(rule))
    return failure();
  rule->linearity.clear();
  rule->dependsOnPlace = true;
  return rule;
}
