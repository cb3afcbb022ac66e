//===- ChunkTerms.cpp - Terms of a chunk's values -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/certify/ChunkTerms.h"

using namespace mlir;
using namespace mf;
using namespace mf::passes;
using ir::EmittedBuffer;

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// Tied parameters are one value.
ChunkTerms::View ChunkTerms::getStored(ir::ParamOp param) {
  StringRef owner = param.getTied().value_or(param.getSymName());
  auto [found, isNew] = stored.try_emplace(owner);
  if (isNew)
    found->second = create(param.getStoredType(),
                           program::getInputTerm("parameter", owner));
  return found->second;
}

/// Returns a parameter as layers read it. If its storage is sharded over ranks,
/// it is gathered before the step's tasks.
ChunkTerms::View ChunkTerms::getStoredOrGathered(ir::ParamOp param) {
  if (!param.getGathered())
    return getStored(param);
  StringRef name = param.getSymName();
  if (auto found = gathered.find(name); found != gathered.end())
    return found->second;
  gathered[name] = create(param.getReadType(), std::nullopt);
  ir::emitGather(*this, param);
  return gathered[name];
}

EmittedBuffer ChunkTerms::getState(ir::State state, StringRef parameter) {
  auto param = symbols.lookup<ir::ParamOp>(parameter);
  if (param && state == ir::State::Parameter)
    return add(getStored(param));
  if (param && state == ir::State::Gathered)
    return add(getStoredOrGathered(param));
  result = current->emitOpError("uses the state of '")
           << parameter << "', which only an update may";
  return createTemporary(
      RankedTensorType::get({}, Float32Type::get(chunk.getContext())));
}

EmittedBuffer ChunkTerms::getReport(StringRef quantity, RankedTensorType type) {
  result = current->emitOpError("reports '")
           << quantity << "', which only an update may";
  return createTemporary(type);
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

/// Recompute may replace a result by the value that is computed from the saved
/// form.
LogicalResult ChunkTerms::runSavedForm(ir::SavedFormOpInterface op) {
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  Value saved = op.save(builder);
  Value restored = op.restore(builder, saved);
  LogicalResult done = success();
  for (Value value : {saved, restored})
    if (succeeded(done))
      done = runOperator(value.getDefiningOp());
  if (succeeded(done))
    equalTerms.emplace_back(get(restored), get(op->getResult(0)));
  for (Value value : {restored, saved}) {
    values.erase(value);
    value.getDefiningOp()->erase();
  }
  if (succeeded(done))
    equal[equalTerms.back().first] = equalTerms.back().second;
  return done;
}

LogicalResult ChunkTerms::runOperator(Operation *op) {
  current = op;
  if (auto read = dyn_cast<ir::GetParamOp>(op)) {
    auto param = symbols.lookup<ir::ParamOp>(read.getParam());
    if (!param)
      return read.emitOpError("expected a parameter, but got '")
             << read.getParam() << "'";
    View view = getStoredOrGathered(param);
    view.type = cast<RankedTensorType>(read.getType());
    values[read.getResult()] = view;
    return result;
  }
  if (auto cut = dyn_cast<ir::CutOp>(op)) {
    for (auto [number, gradient] : llvm::enumerate(cut.getOutputGradients()))
      values[gradient] = create(cast<RankedTensorType>(gradient.getType()),
                                program::getInputTerm("gradient", number));
    return success();
  }
  auto compute = dyn_cast<ir::ComputeOpInterface>(op);
  if (!compute)
    return op->emitOpError("has no term: expected an operator of the model or "
                           "of its backward; run mf-certify right after "
                           "mf-build-backward");
  runCompute(compute);
  views.clear();
  return result;
}

LogicalResult ChunkTerms::run() {
  Block &body = chunk.getBody().front();
  for (BlockArgument argument : body.getArguments())
    values[argument] =
        create(cast<RankedTensorType>(argument.getType()),
               program::getInputTerm("argument", argument.getArgNumber()));
  SmallVector<Operation *> operators;
  for (Operation &op : body.without_terminator())
    operators.push_back(&op);
  for (Operation *op : operators) {
    if (failed(runOperator(op)))
      return failure();
    if (auto saved = dyn_cast<ir::SavedFormOpInterface>(op))
      if (failed(runSavedForm(saved)))
        return failure();
  }
  return success();
}
