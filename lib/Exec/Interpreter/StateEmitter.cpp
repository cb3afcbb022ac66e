//===- StateEmitter.cpp - Launches on state, run at once ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Functions.h"
#include <deque>

using namespace mlir;
using mf::ir::EmittedBuffer;

namespace mf::interpreter {

namespace {

/// Runs the launches that one operator emits. After the first failure nothing
/// more runs.
class StateEmitter : public ir::LaunchEmitter {
public:
  StateEmitter(Rank &rank, Operation *op, Environment &values)
      : rank(rank), op(op), values(values) {}

  LogicalResult getResult() const { return result; }

  EmittedBuffer getBuffer(Value tensor) override {
    return add(values.lookup(tensor));
  }
  EmittedBuffer createBuffer(Value tensor) override {
    EmittedBuffer buffer =
        createTemporary(cast<RankedTensorType>(tensor.getType()));
    values[tensor] = get(buffer);
    return buffer;
  }
  EmittedBuffer createTemporary(RankedTensorType type) override {
    FailureOr<TensorShape> shape = getTensorShape(op, type);
    if (failed(shape))
      return add(failure());
    return add(Tensor(*shape));
  }

  EmittedBuffer getCoordinate(ArrayAttr axes) override {
    program::Group group;
    for (auto axis : axes.getAsRange<StringAttr>())
      group.axes.push_back(axis.str());
    std::vector<int64_t> members =
        rank.getWorld().mesh.getMembers(group, rank.getNumber());
    Tensor coordinate(TensorShape{DType::I32, {1}});
    coordinate.getElements<int32_t>()[0] = static_cast<int32_t>(
        llvm::find(members, rank.getNumber()) - members.begin());
    return add(coordinate);
  }

  EmittedBuffer getState(ir::State state, StringRef parameter) override {
    return add(rank.getState(op, state, parameter));
  }
  ir::ParamOp getParam(StringRef parameter) override {
    return SymbolTable::lookupNearestSymbolFrom<ir::ParamOp>(
        op, StringAttr::get(op->getContext(), parameter));
  }
  EmittedBuffer getReport(StringRef quantity, RankedTensorType type) override {
    FailureOr<TensorShape> shape = getTensorShape(op, type);
    if (failed(shape))
      return add(failure());
    return add(rank.getReport(quantity, *shape));
  }

  EmittedBuffer getPart(EmittedBuffer buffer, int64_t byteOffset,
                        RankedTensorType type) override {
    FailureOr<TensorShape> shape = getTensorShape(op, type);
    if (failed(result) || failed(shape))
      return add(failure());
    return add(get(buffer).getView(*shape, byteOffset));
  }

  void launch(StringRef kernel, ArrayRef<EmittedBuffer> inputs,
              ArrayRef<EmittedBuffer> outputs,
              DictionaryAttr attributes) override {
    if (succeeded(result))
      result = rank.getWorld().kernels.launch(op, kernel, getAll(inputs),
                                              getAll(outputs), attributes);
    if (succeeded(result))
      rank.dump(op, kernel, getAll(outputs));
  }

  void communicate(const ir::EmittedCollective &collective) override {
    if (failed(result))
      return;
    World &world = rank.getWorld();
    program::Group group;
    for (StringRef axis : collective.axes)
      group.axes.push_back(axis.str());
    group.stages.assign(collective.stages.begin(), collective.stages.end());
    TensorExchange::Member own;
    own.input = get(collective.input);
    own.output = get(collective.output);
    if (collective.kind == CollectiveKind::AllToAllV) {
      own.send = get(collective.send);
      own.receive = get(collective.receive);
    }
    result = world.exchange.communicate(
        op, rank.getNumber(), world.mesh.getMembers(group, rank.getNumber()),
        collective, own);
    if (succeeded(result))
      rank.dump(op, collective.kind, own.output);
  }

private:
  EmittedBuffer add(const FailureOr<Tensor> &tensor) {
    if (failed(tensor))
      result = failure();
    return EmittedBuffer(&buffers.emplace_back(tensor.value_or(Tensor())));
  }
  const Tensor &get(EmittedBuffer buffer) const {
    return *static_cast<const Tensor *>(buffer.getHandle());
  }
  SmallVector<Tensor> getAll(ArrayRef<EmittedBuffer> list) const {
    return llvm::map_to_vector(
        list, [this](EmittedBuffer buffer) { return get(buffer); });
  }

  Rank &rank;
  Operation *op;
  Environment &values;
  LogicalResult result = success();
  /// The tensors that buffers point to.
  std::deque<Tensor> buffers;
};

} // namespace

LogicalResult runEmitted(Rank &rank, ir::ComputeOpInterface op,
                         Environment &values) {
  StateEmitter emitter(rank, op, values);
  op.emitInstructions(emitter);
  return emitter.getResult();
}

LogicalResult gatherParameter(Rank &rank, ir::ParamOp param) {
  Environment values;
  StateEmitter emitter(rank, param, values);
  ir::emitGather(emitter, param);
  return emitter.getResult();
}

LogicalResult runUpdateOperator(Rank &rank, ir::UpdateOpInterface op,
                                Environment &values) {
  StateEmitter emitter(rank, op, values);
  op.emitLaunches(emitter);
  return emitter.getResult();
}

} // namespace mf::interpreter
