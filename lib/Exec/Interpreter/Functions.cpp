//===- Functions.cpp - Functions of a model, run on a rank ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Functions.h"

using namespace mlir;

namespace mf::interpreter {

static LogicalResult runCompute(Rank &rank, ir::ComputeOpInterface op,
                                Environment &values) {
  // An operator without a kernel emits its launches itself.
  if (!op.isView() && op.getKernelName().empty())
    return runEmitted(rank, op, values);
  SmallVector<Tensor> operands, results;
  for (Value operand : op->getOperands())
    operands.push_back(values.lookup(operand));
  if (failed(rank.getWorld().kernels.compute(op, operands, results)))
    return failure();
  if (!op.isView())
    rank.dump(op, op.getKernelName(), results);
  for (auto [result, tensor] : llvm::zip_equal(op->getResults(), results))
    values[result] = tensor;
  return success();
}

LogicalResult runOperator(Rank &rank, Operation *op, Environment &values) {
  if (auto read = dyn_cast<ir::GetParamOp>(op)) {
    FailureOr<Tensor> value =
        rank.getState(op, ir::State::Gathered, read.getParam());
    if (failed(value))
      return failure();
    values[read.getResult()] = *value;
    return success();
  }
  // Data is copied there and back, so that mixing up two values is detected.
  if (auto offload = dyn_cast<ir::OffloadOp>(op)) {
    values[offload.getHost()] = values.lookup(offload.getTensor()).clone();
    return success();
  }
  if (auto prefetch = dyn_cast<ir::PrefetchOp>(op)) {
    values[prefetch.getTensor()] = values.lookup(prefetch.getHost()).clone();
    return success();
  }
  // Between the sharding passes each rank has the whole of every tensor.
  if (op->hasTrait<ir::ChangesLayout>() &&
      ir::LayoutAttr::find(op->getResult(0).getType())) {
    values[op->getResult(0)] = values.lookup(op->getOperand(0));
    return success();
  }
  if (auto compute = dyn_cast<ir::ComputeOpInterface>(op))
    return runCompute(rank, compute, values);
  if (auto update = dyn_cast<ir::UpdateOpInterface>(op))
    return runUpdateOperator(rank, update, values);
  return op->emitOpError("cannot be run: it is neither a tensor operator nor "
                         "one on parameters");
}

LogicalResult bindArguments(FunctionOpInterface function,
                            llvm::ArrayRef<Tensor> arguments,
                            Environment &values) {
  if (arguments.size() != function.getNumArguments())
    return function.emitOpError("cannot be run: expected ")
           << function.getNumArguments() << " arguments, but gets "
           << arguments.size();
  for (auto [argument, tensor] :
       llvm::zip_equal(function.getArguments(), arguments)) {
    FailureOr<TensorShape> shape = getTensorShape(function, argument.getType());
    if (failed(shape))
      return failure();
    if (!tensor || tensor.getShape() != *shape)
      return function.emitOpError("cannot be run: argument ")
             << argument.getArgNumber() << " gets "
             << (tensor ? "another type" : "no value");
    values[argument] = tensor;
  }
  return success();
}

LogicalResult runFunction(Rank &rank, FunctionOpInterface function,
                          llvm::ArrayRef<Tensor> arguments,
                          llvm::SmallVectorImpl<Tensor> *results) {
  Environment values;
  if (failed(bindArguments(function, arguments, values)))
    return failure();
  for (Operation &op : function.getFunctionBody().front().without_terminator())
    if (failed(runOperator(rank, &op, values)))
      return failure();
  if (results)
    for (Value result : ir::getReturn(function).getValues())
      results->push_back(values.lookup(result));
  return success();
}

LogicalResult addGradients(Rank &rank, Operation *op, ArrayAttr parameters,
                           llvm::ArrayRef<Tensor> gradients) {
  for (auto [name, gradient] :
       llvm::zip_equal(parameters.getAsRange<FlatSymbolRefAttr>(), gradients))
    if (failed(rank.addGradient(op, name.getValue(), gradient)))
      return failure();
  return success();
}

LogicalResult runRecomputeFunction(Rank &rank, ir::RecomputeOp recompute,
                                   llvm::ArrayRef<Tensor> passed,
                                   llvm::SmallVectorImpl<Tensor> &frame) {
  SmallVector<Tensor> arguments(passed);
  llvm::append_range(arguments, frame);
  return runFunction(rank, recompute, arguments, &frame);
}

FailureOr<SmallVector<Tensor>>
runBackwardFunction(Rank &rank, ir::BackwardOp backward,
                    llvm::ArrayRef<Tensor> passed,
                    llvm::SmallVectorImpl<Tensor> &frame) {
  SmallVector<Tensor> arguments(passed), results;
  llvm::append_range(arguments, frame);
  if (failed(runFunction(rank, backward, arguments, &results)))
    return failure();
  auto numHidden = backward.getInputGradientTypes().size();
  auto gradients = llvm::ArrayRef(results).drop_front(numHidden);
  llvm::append_range(frame, gradients.take_back(backward.getKept()));
  if (failed(addGradients(rank, backward, backward.getGradients(),
                          gradients.drop_back(backward.getKept()))))
    return failure();
  results.truncate(numHidden);
  return results;
}

LogicalResult runWeightsFunction(Rank &rank, ir::BackwardWeightsOp weights,
                                 llvm::ArrayRef<Tensor> passed,
                                 llvm::ArrayRef<Tensor> frame) {
  SmallVector<Tensor> arguments(passed), results;
  llvm::append_range(arguments, frame);
  if (failed(runFunction(rank, weights, arguments, &results)))
    return failure();
  return addGradients(rank, weights, weights.getGradients(), results);
}

} // namespace mf::interpreter
