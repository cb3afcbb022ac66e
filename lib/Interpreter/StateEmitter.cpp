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

  int64_t getRanks() const override { return rank.getWorld().numRanks; }
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
  void allReduce(EmittedBuffer buffer, ArrayRef<int64_t> ranks,
                 StringRef channel) override;

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

void StateEmitter::allReduce(EmittedBuffer buffer, ArrayRef<int64_t> ranks,
                             StringRef channel) {
  if (succeeded(result))
    result = rank.getWorld().exchange.allReduce(op, rank.getNumber(), ranks,
                                                channel, get(buffer));
}

} // namespace

LogicalResult runUpdateOperator(Rank &rank, ir::UpdateOpInterface op,
                                Environment &values) {
  StateEmitter emitter(rank, op, values);
  op.emitLaunches(emitter);
  return emitter.getResult();
}

} // namespace mf::interpreter
