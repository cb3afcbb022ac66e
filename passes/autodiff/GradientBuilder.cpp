//===- GradientBuilder.cpp - Gradients of a sequence of operators ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "GradientBuilder.h"

using namespace mlir;
using namespace mf::ir;

namespace mf::passes {

/// Integers and piecewise constant operators do not propagate gradients.
void GradientBuilder::propagate(Block &forward) {
  for (Operation &op : forward) {
    if (op.hasTrait<PiecewiseConstant>() ||
        llvm::none_of(op.getOperands(),
                      [&](Value operand) { return isRequired(operand); }))
      continue;
    for (Value result : op.getResults())
      if (isFloatTensor(result.getType()))
        require(result);
  }
}

void GradientBuilder::accumulate(Value value, Value gradient, StringRef name) {
  Value &sum = gradients[value];
  if (!sum) {
    sum = gradient;
    return;
  }
  if (largest.contains(value)) {
    auto larger = MaximumOp::create(builder, gradient.getLoc(), sum.getType(),
                                    sum, gradient, nullptr, nullptr, nullptr);
    larger.setName(name);
    sum = larger;
    return;
  }
  auto add = AddOp::create(builder, gradient.getLoc(), sum, gradient);
  add.setName(name);
  sum = add;
}

/// Returns whether an operator may have no gradient for `operand`: the producer
/// of the operand could not use one.
static bool mayIgnore(Value operand) {
  auto result = dyn_cast<OpResult>(operand);
  auto maker = operand.getDefiningOp<DifferentiableOpInterface>();
  return result && maker && !maker.isDifferentiable(result.getResultNumber());
}

LogicalResult GradientBuilder::differentiate(Operation *op) {
  SmallVector<Value> resultGradients;
  for (Value result : op->getResults())
    resultGradients.push_back(getGradient(result));
  if (llvm::none_of(resultGradients, [](Value v) { return bool(v); }))
    return success();
  SmallVector<bool> needed;
  for (Value operand : op->getOperands())
    needed.push_back(isRequired(operand));
  if (llvm::none_of(needed, [](bool flag) { return flag; }))
    return success();

  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  if (!differentiable)
    return op->emitOpError("has no gradient, but a trained parameter or the "
                           "chunk's input depends on it");
  for (auto [index, gradient] : llvm::enumerate(resultGradients))
    if (gradient && !differentiable.isDifferentiable(index))
      return op->emitOpError("has no gradient for result ")
             << index
             << ", but a trained parameter or the chunk's input "
                "depends on it";

  std::string name;
  if (auto compute = dyn_cast<ComputeOpInterface>(op))
    name = (compute.getCellName() + ".grad").str();
  Block *block = builder.getInsertionBlock();
  Operation *before = block->empty() ? nullptr : &block->back();
  SmallVector<Value> operandGradients(op->getNumOperands());
  differentiable.buildGradient(builder, resultGradients, needed,
                               operandGradients);
  for (Operation *created = before ? before->getNextNode() : &block->front();
       created; created = created->getNextNode())
    if (auto compute = dyn_cast<ComputeOpInterface>(created))
      compute.setCellName(name);

  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    if (!needed[index])
      continue;
    if (!operandGradients[index] && mayIgnore(operand))
      continue;
    if (!operandGradients[index])
      return op->emitOpError("has no gradient for operand ")
             << index
             << ", which depends on a trained parameter or the chunk's input";
    accumulate(operand, operandGradients[index], name);
  }
  return success();
}

LogicalResult GradientBuilder::run(ArrayRef<Operation *> operators,
                                   ValueRange outputs,
                                   ValueRange outputGradients) {
  for (auto [output, gradient] : llvm::zip_equal(outputs, outputGradients)) {
    auto compute = output.getDefiningOp<ComputeOpInterface>();
    accumulate(output, gradient,
               compute ? (compute.getCellName() + ".grad").str() : "");
  }
  for (Operation *op : llvm::reverse(operators))
    if (failed(differentiate(op)))
      return failure();
  return success();
}

} // namespace mf::passes
