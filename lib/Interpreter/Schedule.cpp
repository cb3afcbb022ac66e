//===- Schedule.cpp - A stage's schedule, task by task --------------------===//

#include "Schedule.h"
#include "Functions.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace mf::interpreter {

namespace {

/// One run of a schedule.
class ScheduleRun {
public:
  explicit ScheduleRun(Rank &rank) : rank(rank), world(rank.getWorld()) {}

  LogicalResult runTask(Operation *task) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(task)
        .Case<ir::LoadOp, ir::ReceiveOp, ir::SendOp, ir::RunForwardOp,
              ir::LossGradientOp, ir::RunBackwardOp, ir::AccumulateLossOp,
              ir::RunUpdateOp>([this](auto op) { return run(op); })
        .Default([](Operation *op) {
          return op->emitOpError("cannot be run: it is not a task of a "
                                 "schedule");
        });
  }

private:
  LogicalResult bind(Value value, FailureOr<Tensor> tensor) {
    if (failed(tensor))
      return failure();
    values[value] = *tensor;
    return success();
  }
  SmallVector<Tensor> getTensors(ValueRange range) {
    return llvm::map_to_vector(
        range, [this](Value value) { return values.lookup(value); });
  }
  template <typename OpT> OpT lookup(FlatSymbolRefAttr symbol) {
    return world.symbols.lookup<OpT>(symbol.getValue());
  }

  LogicalResult run(ir::LoadOp load) {
    return bind(load.getResult(),
                rank.getInput(load, load.getInput(), load.getMicroBatch(),
                              load.getType()));
  }

  LogicalResult run(ir::ReceiveOp receive) {
    FailureOr<TensorShape> shape = getTensorShape(receive, receive.getType());
    if (failed(shape))
      return failure();
    return bind(
        receive.getResult(),
        world.exchange.receive(receive,
                               {rank.getPeer(receive.getStage()),
                                rank.getNumber(), receive.getChannel().str()},
                               receive.getMicroBatch(), *shape));
  }

  LogicalResult run(ir::SendOp send) {
    world.exchange.send(send,
                        {rank.getNumber(), rank.getPeer(send.getStage()),
                         send.getChannel().str()},
                        send.getMicroBatch(), values.lookup(send.getValue()));
    return success();
  }

  LogicalResult run(ir::RunForwardOp run) {
    SmallVector<Tensor> results;
    if (failed(runFunction(rank, lookup<ir::ForwardOp>(run.getForwardAttr()),
                           getTensors(run.getInputs()), &results)))
      return failure();
    values[run.getOutput()] = results.front();
    frames[run.getFrame()].assign(std::next(results.begin()), results.end());
    return success();
  }

  LogicalResult run(ir::LossGradientOp loss) {
    return bind(loss.getResult(),
                rank.getLossGradient(loss, loss.getValue().convertToDouble(),
                                     loss.getScaled(), loss.getType()));
  }

  LogicalResult run(ir::RunBackwardOp run) {
    auto frame = frames.find(run.getFrame());
    if (frame == frames.end())
      return run.emitOpError("cannot be run: another backward run has read "
                             "its frame already");
    SmallVector<Tensor> passed = {values.lookup(run.getOutputGradient())};
    llvm::append_range(passed, getTensors(run.getInputs()));
    FailureOr<SmallVector<Tensor>> hidden =
        runBackwardFunction(rank, lookup<ir::BackwardOp>(run.getBackwardAttr()),
                            passed, frame->second);
    frames.erase(frame);
    if (failed(hidden))
      return failure();
    if (run.getInputGradient())
      values[run.getInputGradient()] = hidden->front();
    return success();
  }

  LogicalResult run(ir::AccumulateLossOp add) {
    return rank.addLoss(add, values.lookup(add.getLoss()));
  }

  LogicalResult run(ir::RunUpdateOp run) {
    return rank.runUpdate(lookup<ir::UpdateOp>(run.getUpdateAttr()));
  }

  Rank &rank;
  World &world;
  Environment values;
  /// Residuals by the frame that holds them.
  llvm::DenseMap<Value, SmallVector<Tensor>> frames;
};

} // namespace

LogicalResult runSchedule(Rank &rank, ir::ScheduleOp schedule) {
  ScheduleRun run(rank);
  for (Operation &task : schedule.getBody().front())
    if (failed(run.runTask(&task)))
      return failure();
  return success();
}

} // namespace mf::interpreter
