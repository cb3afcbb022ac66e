//===- Rank.cpp - The state of one rank -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Rank.h"
#include "Functions.h"
#include "dialects/ascend/KernelSpecs.h"
#include "mf/Decode/Attributes.h"
#include "mf/Program/Signatures/KernelSignature.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace mf::interpreter {

FailureOr<TensorShape> getTensorShape(Operation *op, Type type) {
  if (auto host = dyn_cast<ir::HostType>(type))
    type = host.getTensor();
  auto tensor = dyn_cast<RankedTensorType>(type);
  std::optional<TensorShape> shape;
  if (tensor)
    shape = mf::getTensorShape(tensor);
  if (!shape)
    return op->emitOpError("cannot be run: ") << type << " is no tensor";
  return *shape;
}

FailureOr<KernelRunner::Prepared>
KernelRunner::make(Operation *op, llvm::StringRef name,
                   llvm::ArrayRef<Tensor> inputs,
                   llvm::ArrayRef<Tensor> outputs, DictionaryAttr attributes) {
  KernelSpec spec;
  spec.name = name.str();
  for (const Tensor &input : inputs)
    spec.inputs.push_back(input.getShape());
  for (const Tensor &output : outputs)
    spec.outputs.push_back(output.getShape());
  if (attributes) {
    std::optional<AttributeMap> given = getAttributeMap(attributes);
    if (!given)
      return op->emitOpError("cannot be run: has attributes that no kernel "
                             "takes");
    spec.attributes = std::move(*given);
  }
  auto kernel = makeKernel(spec);
  if (!kernel)
    return op->emitOpError("cannot be run: ")
           << llvm::toString(kernel.takeError());
  return Prepared{std::move(*kernel),
                  findKernelSignature(spec.name)->getWorkspaceBytes(spec)};
}

void KernelRunner::run(const Prepared &prepared, llvm::ArrayRef<Tensor> inputs,
                       llvm::ArrayRef<Tensor> outputs) {
  auto getAddresses = [](llvm::ArrayRef<Tensor> tensors) {
    return llvm::map_to_vector(tensors, [](const Tensor &tensor) -> void * {
      return tensor.getBytes().data();
    });
  };
  SmallVector<void *> inputAddresses = getAddresses(inputs);
  SmallVector<void *> outputAddresses = getAddresses(outputs);
  std::vector<uint64_t> workspace(
      llvm::divideCeil(prepared.workspaceBytes, sizeof(uint64_t)));
  prepared.kernel->run({inputAddresses, outputAddresses, workspace.data()},
                       pool);
}

LogicalResult KernelRunner::launch(Operation *op, llvm::StringRef name,
                                   llvm::ArrayRef<Tensor> inputs,
                                   llvm::ArrayRef<Tensor> outputs,
                                   DictionaryAttr attributes) {
  FailureOr<Prepared> kernel = make(op, name, inputs, outputs, attributes);
  if (failed(kernel))
    return failure();
  run(*kernel, inputs, outputs);
  return success();
}

LogicalResult KernelRunner::compute(ir::ComputeOpInterface op,
                                    llvm::ArrayRef<Tensor> operands,
                                    llvm::SmallVectorImpl<Tensor> &results) {
  for (Type type : op->getResultTypes()) {
    FailureOr<TensorShape> shape = getTensorShape(op, type);
    if (failed(shape))
      return failure();
    if (op.isView()) {
      results.push_back(operands.front().getView(*shape));
      return success();
    }
    results.push_back(Tensor(*shape));
  }
  Prepared &kernel = kernels[op];
  if (!kernel.kernel) {
    FailureOr<Prepared> made = make(op, op.getKernelName(), operands, results,
                                    op.getKernelAttributes());
    if (failed(made))
      return failure();
    kernel = std::move(*made);
  }
  run(kernel, operands, results);
  return success();
}

//===----------------------------------------------------------------------===//
// State from step to step
//===----------------------------------------------------------------------===//

LogicalResult Rank::initialize(Operation *user, ir::ParamOp param,
                               const Tensor &part) {
  FailureOr<TensorShape> shape = getTensorShape(param, param.getType());
  if (failed(shape))
    return failure();
  FailureOr<program::InitialValue> init =
      program::decodeInitialValue(param, param.getInit());
  if (failed(init))
    return failure();
  llvm::StringRef name = param.getTied().value_or(param.getSymName());
  const ranks::RankTensor own = getPart(param, param.getStoredLayout(), part);
  const ranks::SliceRuns runs(world.mesh, own.shape, own.slice, number);
  const uint64_t seed = world.options.seed;
  const ranks::TensorChange &change = world.options.changeParameter;
  llvm::Error error =
      change && !param.getFrozen()
          ? ranks::fillChangedSlice(*init, seed, name, *shape, runs, change,
                                    part.getBytes())
          : ranks::fillInitialSlice(*init, seed, name, *shape, runs, 0,
                                    own.shape.getNumElements(),
                                    part.getBytes());
  const std::optional<SafetensorsCheckpoint> &file = world.parameters;
  if (!error && param.getFrozen() && file && file->lookup(name)) {
    auto given = file->find(name);
    error = given ? ranks::loadTable(name, *given, *init, *shape, runs,
                                     part.getBytes())
                  : given.takeError();
  }
  if (error)
    return param.emitOpError("has no initial value: ")
           << llvm::toString(std::move(error));
  return success();
}

/// Returns the state that holds `kind` for a parameter without its own memory
/// for it.
static ir::State getHeldState(ir::ParamOp param, ir::State kind) {
  if (kind == ir::State::Gathered && !param.getGathered())
    return ir::State::Parameter;
  const bool isReducedInPlace = !param.getStored() || param.scattersGradients();
  if (kind == ir::State::Gradient && isReducedInPlace)
    return ir::State::Accumulated;
  return kind;
}

FailureOr<Tensor> Rank::getState(Operation *user, ir::State wanted,
                                 llvm::StringRef parameter) {
  auto param = world.symbols.lookup<ir::ParamOp>(parameter);
  if (!param)
    return user->emitOpError("expected a parameter, but got '")
           << parameter << "'";
  const ir::State kind = getHeldState(param, wanted);
  const bool isValue =
      kind == ir::State::Parameter || kind == ir::State::Gathered;
  if (isValue && param.getTied() && trained.contains(*param.getTied()))
    return getState(user, kind, *param.getTied());
  Tensor &state = states[{kind, parameter.str()}];
  if (state)
    return state;
  FailureOr<TensorShape> shape =
      getTensorShape(param, ir::getStateType(param, kind));
  if (failed(shape))
    return failure();
  Tensor value(*shape);
  value.fillWithZeros();
  if (kind == ir::State::Parameter && failed(initialize(user, param, value)))
    return failure();
  state = value;
  if (kind == ir::State::Gathered && failed(gatherParameter(*this, param)))
    return failure();
  return value;
}

static std::vector<std::string> getNames(ArrayAttr axes) {
  std::vector<std::string> names;
  for (auto axis : axes.getAsRange<StringAttr>())
    names.push_back(axis.str());
  return names;
}

ranks::RankTensor Rank::getPart(ir::ParamOp param, ir::LayoutAttr layout,
                                const Tensor &tensor) const {
  ranks::RankTensor part;
  part.rank = number;
  part.shape = tensor.getShape();
  part.read = [tensor] { return llvm::ArrayRef<uint8_t>(tensor.getBytes()); };
  if (!layout)
    return part;
  part.slice.emplace();
  llvm::append_range(part.slice->dims, param.getTensorType().getShape());
  for (auto axes : layout.getCuts().getAsRange<ArrayAttr>())
    part.slice->axes.push_back(getNames(axes));
  part.summand = world.mesh.getPart(number, getNames(layout.getReduced()));
  return part;
}

/// Returns the layout of a rank's gradient before the update. Backward may have
/// summed it over ranks already.
static ir::LayoutAttr getGradientLayout(ir::ParamOp param) {
  ir::LayoutAttr layout = param.getAccumulatedLayout();
  if (!layout || !param.getReducedInBackward())
    return layout;
  return ir::LayoutAttr::get(layout.getContext(), layout.getCuts(),
                             layout.getPartial(),
                             ArrayAttr::get(layout.getContext(), {}));
}

llvm::Error Rank::addParameters(ranks::WholeTensors &tensors,
                                bool trainedOnly) const {
  for (const auto &[key, tensor] : states) {
    if (key.first != ir::State::Parameter)
      continue;
    auto param = world.symbols.lookup<ir::ParamOp>(key.second);
    const bool isTokenExperts =
        param.getFrozen() &&
        param.getInit().getKind() == ir::InitKind::TokenExperts;
    if ((param.getFrozen() && !isTokenExperts) || param.getTied() ||
        (trainedOnly && !param.needsGradient()))
      continue;
    ranks::RankTensor part = getPart(param, param.getStoredLayout(), tensor);
    part.isTokenExperts = isTokenExperts;
    // Only gradients are summands. Ranks with the same part hold the same
    // value.
    part.summand = 0;
    if (llvm::Error error = tensors.add(key.second, std::move(part)))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error Rank::addGradients(ranks::WholeTensors &tensors) const {
  for (const auto &[name, tensor] : keptGradients) {
    auto param = world.symbols.lookup<ir::ParamOp>(name);
    if (llvm::Error error =
            tensors.add(name, getPart(param, getGradientLayout(param), tensor)))
      return error;
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Sums of a step
//===----------------------------------------------------------------------===//

void Rank::beginStep() {
  reports.clear();
  keptGradients.clear();
  hasKeptGradients = false;
  summed.clear();
  loss = Tensor();
  lossParts.clear();
  for (auto state = states.begin(); state != states.end();) {
    if (state->first.first == ir::State::Accumulated)
      state->second.fillWithZeros();
    // The first reader in a step gathers a parameter.
    state = state->first.first == ir::State::Gathered ? states.erase(state)
                                                      : std::next(state);
  }
}

LogicalResult Rank::addGradient(Operation *op, llvm::StringRef parameter,
                                const Tensor &gradient) {
  FailureOr<Tensor> sum = getState(op, ir::State::Accumulated, parameter);
  if (failed(sum))
    return failure();
  if (sum->getShape() != gradient.getShape())
    return op->emitOpError("makes a gradient of another shape than '")
           << parameter << "' has";
  // A single micro-batch is not added to zeros; 0 + -0 would be 0.
  bool isFirst = summed.insert(parameter).second;
  const auto rule =
      world.symbols.lookup<ir::ParamOp>(parameter).getUpdateRule();
  bool isOnly = (isFirst && world.runs == 1) || rule == ir::UpdateRule::Record;
  if (!isOnly && rule == ir::UpdateRule::Largest)
    return world.kernels.launch(op, "aclnnMaximum", {gradient, *sum}, *sum, {});
  return world.kernels.launch(
      op, isOnly ? "aclnnInplaceCopy" : "aclnnInplaceAdd", gradient, *sum, {});
}

LogicalResult Rank::addLoss(Operation *op, const Tensor &value,
                            const ir::LossPart &part) {
  if (value.getShape() != TensorShape{DType::F32, {}})
    return op->emitOpError("expected the loss to be a scalar in fp32");
  if (!loss)
    loss = makeScalar(0);
  lossOp = op;
  if (part.name && !part.name.empty()) {
    auto [found, isNew] = lossParts.try_emplace(part.name.str());
    if (isNew)
      found->second = {makeScalar(0), part.unit.getValueAsDouble()};
    if (failed(world.kernels.launch(op, "aclnnInplaceAdd", value,
                                    found->second.first, {})))
      return failure();
  }
  return world.kernels.launch(op, "aclnnInplaceAdd", value, loss, {});
}

Tensor Rank::getReport(llvm::StringRef quantity, const TensorShape &shape) {
  Tensor &report = reports[quantity.str()];
  if (!report) {
    report = Tensor(shape);
    report.fillWithZeros();
  }
  return report;
}

void Rank::forEachReport(
    llvm::function_ref<void(const std::string &, const Tensor &)> action)
    const {
  for (const auto &[quantity, value] : reports)
    action(quantity, value);
}

void Rank::keepGradients() {
  if (hasKeptGradients)
    return;
  hasKeptGradients = true;
  for (const auto &[key, tensor] : states)
    if (key.first == ir::State::Accumulated && trained.contains(key.second))
      keptGradients[key.second] = tensor.clone();
}

/// Returns the learning rates in the form that the update expects: a scalar or
/// a vector.
static Tensor makeRates(Type type, ArrayRef<float> rates) {
  const ArrayRef<int64_t> sizes = cast<RankedTensorType>(type).getShape();
  Tensor tensor(TensorShape{DType::F32, {sizes.begin(), sizes.end()}});
  llvm::copy(rates, tensor.getElements<float>().begin());
  return tensor;
}

LogicalResult Rank::runUpdate(ir::UpdateOp update) {
  keepGradients();
  const ranks::StepInput &input = world.input;
  SmallVector<Tensor> arguments = {
      makeRates(update.getArgument(0).getType(), input.learningRates),
      makeScalar(static_cast<float>(input.stepNumber)),
      makeScalar(input.lossScale)};
  arguments.truncate(update.getNumArguments());
  return runFunction(*this, update, arguments);
}

static DictionaryAttr getFactor(MLIRContext *context, double value) {
  Builder builder(context);
  return builder.getDictionaryAttr(
      builder.getNamedAttr("value", builder.getF64FloatAttr(value)));
}

LogicalResult Rank::endStep() {
  keepGradients();
  if (!loss)
    return success();
  auto report = [&](llvm::StringRef part, const Tensor &sum, double unit) {
    const double runs = static_cast<double>(world.microBatches);
    return world.kernels.launch(
        lossOp, "aclnnMuls", sum, getReport(part, sum.getShape()),
        getFactor(lossOp->getContext(), 1.0 / (runs * unit)));
  };
  for (const auto &[name, part] : lossParts)
    if (failed(report(name, part.first, part.second)))
      return failure();
  return report("loss", loss, 1.0);
}

//===----------------------------------------------------------------------===//
// Values that are kept
//===----------------------------------------------------------------------===//

void Rank::dump(Operation *op, llvm::ArrayRef<ranks::MadeTensor> made) const {
  auto compute = dyn_cast<ir::ComputeOpInterface>(op);
  if (!compute || compute.getCellName().empty())
    return;
  std::string cell = compute.getCellName().str();
  if (!task.layer.empty())
    cell = task.layer.str() + "." + cell;
  world.options.dump->add({number, task.microBatch, task.isForward, cell},
                          made);
}

void Rank::dump(Operation *op, llvm::StringRef kernel,
                llvm::ArrayRef<Tensor> outputs) const {
  if (!world.options.dump || !world.options.dump->isActive())
    return;
  const auto shapes = llvm::map_to_vector(
      outputs, [](const Tensor &tensor) { return tensor.getShape(); });
  dump(op,
       ranks::describeOutputs(*findKernelSignature(kernel), shapes,
                              [&](size_t i) { return outputs[i].getBytes(); }));
}

void Rank::dump(Operation *op, CollectiveKind kind,
                const Tensor &output) const {
  if (world.options.dump && world.options.dump->isActive())
    dump(op, ranks::MadeTensor{getName(kind), output.getShape(),
                               output.getBytes()});
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

FailureOr<Tensor> Rank::getInput(Operation *op, ir::InputKind kind,
                                 int64_t microBatch, Type type) {
  FailureOr<TensorShape> shape = getTensorShape(op, type);
  if (failed(shape))
    return failure();
  if (kind == ir::InputKind::Draw) {
    Tensor draw(*shape);
    llvm::copy(ranks::getDraw(world.input, microBatch),
               draw.getElements<int64_t>().begin());
    return draw;
  }
  if (kind != ir::InputKind::Tokens && kind != ir::InputKind::Labels)
    return op->emitOpError(
               "cannot be run: expected tokens, labels or a draw, but got ")
           << ir::stringifyInputKind(kind);
  llvm::ArrayRef<int32_t> all =
      kind == ir::InputKind::Tokens ? world.input.tokens : world.input.labels;
  const std::optional<program::Slice> slice = getInputSlice(*shape);
  const int64_t count = ranks::getWholeShape(*shape, slice).getNumElements();
  if (shape->type != DType::I32 ||
      count * world.microBatches != static_cast<int64_t>(all.size()) ||
      microBatch < 0 || microBatch >= world.microBatches)
    return op->emitOpError("cannot be run: wants micro-batch ")
           << microBatch << " of " << shape->getNumElements() << " "
           << ir::stringifyInputKind(kind) << ", but a step has " << all.size()
           << " in " << world.microBatches << " micro-batches";
  Tensor input(*shape);
  const llvm::ArrayRef<int32_t> batch = all.slice(microBatch * count, count);
  ranks::SliceRuns(world.mesh, *shape, slice, number)
      .take({reinterpret_cast<const uint8_t *>(batch.data()),
             batch.size() * sizeof(int32_t)},
            input.getBytes(), sizeof(int32_t));
  return input;
}

std::optional<program::Slice>
Rank::getInputSlice(const TensorShape &shape) const {
  const auto rows = static_cast<int64_t>(world.model.getMicroBatchSize());
  const auto length = static_cast<int64_t>(world.model.getSequenceLength());
  const int64_t count = shape.getNumElements();
  if (shape.dims.size() != 2 || count == 0 || count >= rows * length ||
      rows % shape.dims[0] != 0 || length % shape.dims[1] != 0)
    return std::nullopt;
  // Rows are cut over dp, the sequence over cp and, where that is not all, mp.
  std::vector<std::string> rowAxes, sequenceAxes;
  if (shape.dims[0] < rows)
    rowAxes = world.mesh.getFactors("dp");
  for (llvm::StringRef name : {"cp", "mp"})
    for (const std::string &axis : world.mesh.getFactors(name))
      if (world.mesh.getNumParts(sequenceAxes) < length / shape.dims[1])
        sequenceAxes.push_back(axis);
  return program::Slice{{rows, length}, {rowAxes, sequenceAxes}};
}

FailureOr<Tensor> Rank::getLossGradient(Operation *op, double value,
                                        bool isScaled, Type type) {
  FailureOr<TensorShape> shape = getTensorShape(op, type);
  if (failed(shape))
    return failure();
  Tensor gradient(*shape);
  if (isScaled) {
    if (failed(world.kernels.launch(op, "aclnnMuls",
                                    makeScalar(world.input.lossScale), gradient,
                                    getFactor(op->getContext(), value))))
      return failure();
    return gradient;
  }
  program::InitialValue constant;
  constant.kind = program::InitialValue::Kind::Constant;
  constant.value = value;
  if (llvm::Error error = ranks::fillInitialValue(constant, 0, "", *shape, 0,
                                                  gradient.getBytes()))
    return op->emitOpError("cannot be run: ")
           << llvm::toString(std::move(error));
  return gradient;
}

} // namespace mf::interpreter
