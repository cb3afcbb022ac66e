//===- ChunkTerms.cpp - Terms of a chunk's values -------------------------===//

#include "passes/certify/ChunkTerms.h"
#include "dialects/ascend/KernelSpecs.h"
#include "passes/lower/ProgramBuilder.h"

using namespace mlir;
using namespace mf;
using namespace mf::passes;
using ir::EmittedBuffer;
using program::Term;

/// Returns the size of a tensor as kernels and programs count it.
static int64_t getSize(RankedTensorType type) {
  std::optional<TensorShape> shape = getTensorShape(type);
  return shape ? shape->getBytes() : 0;
}

ChunkTerms::ChunkTerms(ir::ChunkOp chunk)
    : chunk(chunk), symbols(chunk->getParentOfType<ir::ModelOp>()) {}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

EmittedBuffer ChunkTerms::add(const View &view) {
  return EmittedBuffer(&views.emplace_back(view));
}

ChunkTerms::View ChunkTerms::create(RankedTensorType type,
                                    std::optional<Term> term) {
  View view{&buffers.emplace_back(), 0, type};
  if (term)
    view.buffer->write(0, getSize(type), *term);
  return view;
}

program::TermRange ChunkTerms::getRange(EmittedBuffer buffer) {
  const View &view = getView(buffer);
  return {view.buffer, view.begin, getSize(view.type)};
}

Term ChunkTerms::get(Value value) {
  const View view = values.lookup(value);
  return view.buffer->read(view.begin, getSize(view.type));
}

EmittedBuffer ChunkTerms::getBuffer(Value tensor) {
  return add(values.lookup(tensor));
}

EmittedBuffer ChunkTerms::createBuffer(Value tensor) {
  View view = create(cast<RankedTensorType>(tensor.getType()), std::nullopt);
  values[tensor] = view;
  return add(view);
}

EmittedBuffer ChunkTerms::createTemporary(RankedTensorType type) {
  return add(create(type, std::nullopt));
}

EmittedBuffer ChunkTerms::getCoordinate(ArrayAttr axes) {
  auto type =
      RankedTensorType::get({1}, IntegerType::get(chunk.getContext(), 32));
  return add(create(type, program::getInputTerm(
                              "parameter", getCoordinateName(chunk, axes))));
}

EmittedBuffer ChunkTerms::getPart(EmittedBuffer buffer, int64_t byteOffset,
                                  RankedTensorType type) {
  View view = getView(buffer);
  return add({view.buffer, view.begin + byteOffset, type});
}

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
// Launches and collectives
//===----------------------------------------------------------------------===//

void ChunkTerms::launch(StringRef kernel, ArrayRef<EmittedBuffer> inputs,
                        ArrayRef<EmittedBuffer> outputs,
                        DictionaryAttr attributes) {
  auto getTypes = [](ArrayRef<EmittedBuffer> list) {
    return llvm::map_to_vector(
        list, [](EmittedBuffer buffer) { return getView(buffer).type; });
  };
  auto getRanges = [](ArrayRef<EmittedBuffer> list) {
    return llvm::map_to_vector(
        list, [](EmittedBuffer buffer) { return getRange(buffer); });
  };
  const KernelSignature *signature = findKernelSignature(kernel);
  std::optional<KernelSpec> spec = getKernelSpec(
      kernel, getTypes(inputs), getTypes(outputs),
      attributes ? attributes : DictionaryAttr::get(chunk.getContext()));
  if (!signature || !spec) {
    result = current->emitOpError("launches '")
             << kernel << "', which is no kernel with these types";
    return;
  }
  if (llvm::Error error = checkAgainstSignature(*spec)) {
    result = current->emitOpError(llvm::toString(std::move(error)));
    return;
  }
  program::runKernel(*spec, *signature, getRanges(inputs), getRanges(outputs),
                     equal);
}

void ChunkTerms::communicate(const ir::EmittedCollective &collective) {
  program::TermCollective terms;
  terms.kind = collective.kind;
  terms.reduction = collective.reduction;
  if (auto shape = getTensorShape(getView(collective.input).type))
    terms.type = shape->type;
  terms.fill = collective.fill;
  for (StringRef axis : collective.axes)
    terms.group.axes.push_back(axis.str());
  terms.group.stages.assign(collective.stages.begin(), collective.stages.end());
  SmallVector<program::TermRange> inputs;
  for (EmittedBuffer input :
       {collective.input, collective.send, collective.receive})
    if (input)
      inputs.push_back(getRange(input));
  program::runCollective(terms, inputs, getRange(collective.output), equal);
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
                           "of its backward; run mf-certify right behind "
                           "mf-build-backward");
  if (compute.isView()) {
    View view = values.lookup(op->getOperand(0));
    view.type = cast<RankedTensorType>(op->getResult(0).getType());
    values[op->getResult(0)] = view;
  } else {
    compute.emitInstructions(*this);
  }
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
