//===- StateEmitter.cpp - Launches on state, run at once ------------------===//

#include "Functions.h"
#include <deque>

using namespace mlir;
using mf::ir::EmittedBuffer;

namespace mf::interpreter {

namespace {

/// Runs what one operator emits. After the first failure nothing runs.
class StateEmitter : public ir::LaunchEmitter {
public:
  StateEmitter(Rank &rank, Operation *op, Environment &values)
      : rank(rank), op(op), values(values) {}

  LogicalResult getResult() const { return result; }

  EmittedBuffer getBuffer(Value tensor) override {
    return add(values.lookup(tensor));
  }
  EmittedBuffer createBuffer(Value tensor) override;
  EmittedBuffer getState(ir::State state, StringRef parameter) override {
    return add(rank.getState(op, state, parameter));
  }
  EmittedBuffer getReport(StringRef quantity) override {
    return add(rank.getReport(quantity));
  }
  EmittedBuffer getPart(EmittedBuffer buffer, int64_t byteOffset,
                        RankedTensorType type) override;
  void launch(StringRef kernel, ArrayRef<EmittedBuffer> inputs,
              ArrayRef<EmittedBuffer> outputs,
              DictionaryAttr attributes) override;
  void communicate(const ir::EmittedCollective &collective) override;

private:
  EmittedBuffer add(const FailureOr<Tensor> &tensor);
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
  /// What buffers point to.
  std::deque<Tensor> buffers;
};

EmittedBuffer StateEmitter::add(const FailureOr<Tensor> &tensor) {
  if (failed(tensor))
    result = failure();
  return EmittedBuffer(&buffers.emplace_back(tensor.value_or(Tensor())));
}

EmittedBuffer StateEmitter::createBuffer(Value tensor) {
  FailureOr<TensorShape> shape = getTensorShape(op, tensor.getType());
  if (failed(shape))
    return add(failure());
  Tensor buffer(*shape);
  values[tensor] = buffer;
  return add(buffer);
}

EmittedBuffer StateEmitter::getPart(EmittedBuffer buffer, int64_t byteOffset,
                                    RankedTensorType type) {
  FailureOr<TensorShape> shape = getTensorShape(op, type);
  if (failed(result) || failed(shape))
    return add(failure());
  return add(get(buffer).getView(*shape, byteOffset));
}

void StateEmitter::launch(StringRef kernel, ArrayRef<EmittedBuffer> inputs,
                          ArrayRef<EmittedBuffer> outputs,
                          DictionaryAttr attributes) {
  if (succeeded(result))
    result = rank.getWorld().kernels.launch(op, kernel, getAll(inputs),
                                            getAll(outputs), attributes);
}

void StateEmitter::communicate(const ir::EmittedCollective &collective) {
  if (failed(result))
    return;
  World &world = rank.getWorld();
  program::Group group;
  for (StringRef axis : collective.axes)
    group.axes.push_back(axis.str());
  group.stages.assign(collective.stages.begin(), collective.stages.end());
  result = world.exchange.communicate(
      op, rank.getNumber(), world.mesh.getMembers(group, rank.getNumber()),
      collective, get(collective.input), get(collective.output));
}

} // namespace

LogicalResult runEmitted(Rank &rank, ir::ComputeOpInterface op,
                         Environment &values) {
  StateEmitter emitter(rank, op, values);
  op.emitInstructions(emitter);
  return emitter.getResult();
}

LogicalResult runUpdateOperator(Rank &rank, ir::UpdateOpInterface op,
                                Environment &values) {
  StateEmitter emitter(rank, op, values);
  op.emitLaunches(emitter);
  return emitter.getResult();
}

} // namespace mf::interpreter
