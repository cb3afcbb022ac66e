//===- ScheduleRun.cpp - A stage's schedule, task by task ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ScheduleRun.h"
#include "Functions.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace mf::interpreter {

namespace {

/// Runs a schedule once.
class ScheduleRun {
public:
  explicit ScheduleRun(Rank &rank) : rank(rank), world(rank.getWorld()) {}

  LogicalResult runTask(Operation *task) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(task)
        .Case<ir::LoadOp, ir::ReceiveOp, ir::SendOp, ir::RunForwardOp,
              ir::LossGradientOp, ir::RunRecomputeOp, ir::RunBackwardOp,
              ir::RunBackwardWeightsOp, ir::AccumulateLossOp, ir::RunUpdateOp>(
            [this](auto op) { return run(op); })
        .Default([](Operation *op) {
          return op->emitOpError("cannot be run: it is not a task of a "
                                 "schedule");
        });
  }

private:
  /// Values that a micro-batch keeps from a task of a chunk for later tasks.
  struct Frame {
    /// The residuals, followed by recomputed values and values that backward
    /// keeps for the half of the weights.
    SmallVector<Tensor> values;
    bool hasRunBackward = false;
  };

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
  /// Binds the first tensors of a range, and returns the others.
  llvm::ArrayRef<Tensor> bindAll(ValueRange range,
                                 llvm::ArrayRef<Tensor> tensors) {
    for (auto [value, tensor] : llvm::zip(range, tensors))
      values[value] = tensor;
    return tensors.drop_front(range.size());
  }
  template <typename OpT> OpT lookup(FlatSymbolRefAttr symbol) {
    return world.symbols.lookup<OpT>(symbol.getValue());
  }

  LogicalResult run(ir::LoadOp load) {
    return bind(load.getResult(),
                rank.getInput(load, load.getInput(),
                              static_cast<int64_t>(load.getMicroBatch()),
                              load.getType()));
  }

  LogicalResult run(ir::ReceiveOp receive) {
    FailureOr<TensorShape> shape = getTensorShape(receive, receive.getType());
    if (failed(shape))
      return failure();
    return bind(receive.getResult(),
                world.exchange.receive(
                    receive,
                    {rank.getPeer(static_cast<int64_t>(receive.getStage())),
                     rank.getNumber(), receive.getChannel().str()},
                    static_cast<int64_t>(receive.getMicroBatch()), *shape));
  }

  LogicalResult run(ir::SendOp send) {
    world.exchange.send(send,
                        {rank.getNumber(),
                         rank.getPeer(static_cast<int64_t>(send.getStage())),
                         send.getChannel().str()},
                        static_cast<int64_t>(send.getMicroBatch()),
                        values.lookup(send.getValue()));
    return success();
  }

  LogicalResult run(ir::RunForwardOp run) {
    SmallVector<Tensor> results;
    rank.beginTask(static_cast<int64_t>(run.getMicroBatch()),
                   /*isForward=*/true);
    if (failed(runFunction(rank, lookup<ir::ForwardOp>(run.getForwardAttr()),
                           getTensors(run.getInputs()), &results)))
      return failure();
    llvm::append_range(frames[run.getFrame()].values,
                       bindAll(run.getOutputs(), results));
    return success();
  }

  LogicalResult run(ir::LossGradientOp loss) {
    return bind(loss.getResult(),
                rank.getLossGradient(loss, loss.getValue().convertToDouble(),
                                     loss.getScaled(), loss.getType()));
  }

  LogicalResult run(ir::RunRecomputeOp run) {
    auto frame = frames.find(run.getFrame());
    if (frame == frames.end() || frame->second.hasRunBackward)
      return run.emitOpError("cannot be run: expected its frame before the "
                             "backward run that reads it");
    rank.beginTask(static_cast<int64_t>(run.getMicroBatch()),
                   /*isForward=*/false);
    return runRecomputeFunction(
        rank, lookup<ir::RecomputeOp>(run.getRecomputeAttr()),
        getTensors(run.getArguments()), frame->second.values);
  }

  LogicalResult run(ir::RunBackwardOp run) {
    auto frame = frames.find(run.getFrame());
    if (frame == frames.end() || frame->second.hasRunBackward)
      return run.emitOpError("cannot be run: another backward run has read "
                             "its frame already");
    rank.beginTask(static_cast<int64_t>(run.getMicroBatch()),
                   /*isForward=*/false);
    FailureOr<SmallVector<Tensor>> hidden = runBackwardFunction(
        rank, lookup<ir::BackwardOp>(run.getBackwardAttr()),
        getTensors(run.getArguments()), frame->second.values);
    if (failed(hidden))
      return failure();
    (void)bindAll(run.getInputGradients(), *hidden);
    frame->second.hasRunBackward = true;
    // Its weights' half reads on.
    if (llvm::none_of(run.getFrame().getUsers(), [](Operation *user) {
          return isa<ir::RunBackwardWeightsOp>(user);
        }))
      frames.erase(frame);
    return success();
  }

  LogicalResult run(ir::RunBackwardWeightsOp run) {
    auto frame = frames.find(run.getFrame());
    if (frame == frames.end() || !frame->second.hasRunBackward)
      return run.emitOpError("cannot be run: expected its frame behind the "
                             "backward run that adds to it, and once");
    SmallVector<Tensor> values = std::move(frame->second.values);
    frames.erase(frame);
    rank.beginTask(static_cast<int64_t>(run.getMicroBatch()),
                   /*isForward=*/false);
    return runWeightsFunction(
        rank, lookup<ir::BackwardWeightsOp>(run.getWeightsAttr()),
        getTensors(run.getArguments()), values);
  }

  LogicalResult run(ir::AccumulateLossOp add) {
    return rank.addLoss(add, values.lookup(add.getLoss()),
                        getPart(add.getLoss()));
  }

  /// Returns the part of a forward run's output in the step's loss.
  ir::LossPart getPart(Value output) {
    auto result = dyn_cast<OpResult>(output);
    auto run = output.getDefiningOp<ir::RunForwardOp>();
    if (!run)
      return {};
    SmallVector<ir::LossPart> parts =
        ir::findLossParts(lookup<ir::ForwardOp>(run.getForwardAttr()));
    const size_t number = llvm::count_if(
        run.getOutputs().take_front(result.getResultNumber()),
        [](Value before) { return ir::isLoss(before.getType()); });
    return number < parts.size() ? parts[number] : ir::LossPart();
  }

  LogicalResult run(ir::RunUpdateOp run) {
    return rank.runUpdate(lookup<ir::UpdateOp>(run.getUpdateAttr()));
  }

  Rank &rank;
  World &world;
  Environment values;
  /// The frames by the values of the IR.
  llvm::DenseMap<Value, Frame> frames;
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
