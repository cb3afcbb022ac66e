//===- ScheduleBuilder.cpp - Schedules as IR ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/schedule/ScheduleBuilder.h"
#include "mf/Pipeline/TaskGraph.h"

using namespace mlir;
using namespace mf;
using namespace mf::ir;
using mf::passes::ScheduleBuilder;
using mf::schedule::Phase;
using mf::schedule::Task;

/// Returns the channel of a message: `forward.2`, and `forward.2.1` for the
/// second value. The number is the chunk that sends the message.
static std::string getChannel(Phase phase, int64_t chunk, int64_t value) {
  std::string channel = phase == Phase::Forward ? "forward." : "backward.";
  channel += std::to_string(chunk);
  if (value > 0)
    channel += "." + std::to_string(value);
  return channel;
}

ScheduleBuilder::ScheduleBuilder(ModelOp model, ModelChunks &chunks,
                                 const schedule::Schedule &schedule,
                                 ArrayRef<schedule::Transfer> transfers)
    : model(model), chunks(chunks), schedule(schedule),
      builder(model.getContext()), loc(model.getLoc()),
      runs(chunks.pipeline.getNumChunks() * chunks.pipeline.microBatches *
           chunks.pipeline.pieces) {
  for (const schedule::Transfer &transfer : transfers) {
    ahead[getNumber(transfer.reader)] = transfer.ahead;
    behind[getNumber(transfer.producer)] = transfer.behind;
  }
}

//===----------------------------------------------------------------------===//
// Values that runs exchange
//===----------------------------------------------------------------------===//

Value ScheduleBuilder::load(const Task &task, int64_t argument) {
  ForwardOp forward = chunks.get(task).forward;
  ArrayAttr inputs = forward.getInputs();
  for (auto [number, kind, index] :
       llvm::enumerate(inputs.getAsRange<InputKindAttr>(),
                       forward.getInputIndices().getAsRange<IntegerAttr>())) {
    if (index.getInt() != argument)
      continue;
    int64_t microBatch = getMicroBatchOfInput(inputs, number, task.microBatch);
    Value &loaded = loads[{task.chunk, microBatch, kind.getValue()}];
    if (!loaded)
      loaded =
          LoadOp::create(builder, loc, forward.getArgumentTypes()[argument],
                         kind.getValue(), microBatch);
    return loaded;
  }
  return nullptr;
}

Value ScheduleBuilder::receive(const Task &task, int64_t value, Type type) {
  const Task producer = *getProducer(chunks.pipeline, task);
  return ReceiveOp::create(builder, loc, type, chunks.getStage(producer.chunk),
                           getChannel(task.phase, producer.chunk, value),
                           task.microBatch, task.piece,
                           ahead.lookup(getNumber(task)));
}

void ScheduleBuilder::send(const Task &task, ValueRange values) {
  std::optional<Task> reader = getReader(chunks.pipeline, task);
  if (!reader)
    return;
  for (auto [index, value] : llvm::enumerate(values))
    SendOp::create(
        builder, loc, value, chunks.getStage(reader->chunk),
        getChannel(task.phase, task.chunk, static_cast<int64_t>(index)),
        task.microBatch, task.piece, behind.lookup(getNumber(task)));
}

void ScheduleBuilder::addInputs(const Task &task, Run &run) {
  ForwardOp forward = chunks.get(task).forward;
  bool isReceived = getProducer(chunks.pipeline, task).has_value();
  int64_t numHidden = 0;
  for (auto [index, type] : llvm::enumerate(
           forward.getArgumentTypes().drop_back(forward.getPast()))) {
    Value input = load(task, static_cast<int64_t>(index));
    if (!input) {
      input = isReceived ? receive(task, numHidden, type)
                         : getRun(*getChunkInput(chunks.pipeline, task))
                               .outputs[numHidden];
      ++numHidden;
    }
    run.inputs.push_back(input);
  }
  addPast(task, run);
}

void ScheduleBuilder::addPast(const Task &task, Run &run) {
  for (int32_t piece = 0; piece < task.piece; ++piece) {
    Task earlier = task;
    earlier.piece = piece;
    auto numGiven =
        static_cast<int64_t>(chunks.get(earlier).forward.getFuture());
    llvm::append_range(run.inputs,
                       ArrayRef(getRun(earlier).outputs).take_back(numGiven));
  }
}

/// Adds the gradients that the next piece returns for all values that it has
/// read, which include the contributions of later pieces.
void ScheduleBuilder::addFutureGradients(const Task &task, Run &run) {
  if (chunks.get(task).forward.getFuture() == 0)
    return;
  Task later = task;
  ++later.piece;
  auto numRead = static_cast<int64_t>(chunks.get(later).forward.getPast());
  llvm::append_range(run.outputGradients,
                     ArrayRef(getRun(later).inputGradients).take_back(numRead));
}

void ScheduleBuilder::addOutputGradients(const Task &task, Run &run) {
  ForwardOp forward = chunks.get(task).forward;
  bool isReceived = getProducer(chunks.pipeline, task).has_value();
  TrainingAttr training = model.getTrainingAttr();
  int64_t numHidden = 0;
  for (Type type : forward.getOutputTypes().drop_back(forward.getFuture())) {
    Value gradient;
    if (isLoss(type)) {
      double share = 1.0 / static_cast<double>(chunks.pipeline.microBatches);
      gradient = LossGradientOp::create(
          builder, loc, type, builder.getF64FloatAttr(share),
          training.scalesLoss() ? builder.getUnitAttr() : nullptr);
    } else {
      gradient = isReceived ? receive(task, numHidden, type)
                            : getRun(*getChunkInput(chunks.pipeline, task))
                                  .inputGradients[numHidden];
      ++numHidden;
    }
    run.outputGradients.push_back(gradient);
  }
  addFutureGradients(task, run);
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

Operation *ScheduleBuilder::runForward(const Task &task) {
  ChunkFunctions &chunk = chunks.get(task);
  Run &run = getRun(task);
  addInputs(task, run);
  auto frameType =
      FrameType::get(model.getContext(),
                     FlatSymbolRefAttr::get(chunk.forward.getSymNameAttr()));
  auto op = RunForwardOp::create(builder, loc, chunk.forward.getOutputTypes(),
                                 frameType, chunk.forward.getSymName(),
                                 task.microBatch, run.inputs);
  run.frame = op.getFrame();
  llvm::append_range(run.outputs, op.getOutputs());
  send(task, op.getOutputs().take_front(chunk.countHiddenOutputs()));
  for (Value output : op.getOutputs())
    if (isLoss(output.getType()))
      AccumulateLossOp::create(builder, loc, output);
  return op;
}

void ScheduleBuilder::addOfForward(const Run &run, ArrayAttr arguments,
                                   ArrayAttr outputs,
                                   SmallVectorImpl<Value> &values) {
  for (auto index : arguments.getAsRange<IntegerAttr>())
    values.push_back(run.inputs[index.getInt()]);
  for (auto index : outputs.getAsRange<IntegerAttr>())
    values.push_back(run.outputs[index.getInt()]);
}

Operation *ScheduleBuilder::runRecompute(const Task &task) {
  RecomputeOp recompute = chunks.get(task).recompute;
  Run &run = getRun(task);
  SmallVector<Value> arguments;
  addOfForward(run, recompute.getForwardArguments(),
               recompute.getForwardOutputs(), arguments);
  return RunRecomputeOp::create(builder, loc, recompute.getSymName(),
                                task.microBatch, run.frame, arguments);
}

Operation *ScheduleBuilder::runBackward(const Task &task) {
  ChunkFunctions &chunk = chunks.get(task);
  Run &run = getRun(task);
  addOutputGradients(task, run);
  SmallVector<Value> arguments(run.outputGradients);
  addOfForward(run, chunk.backward.getForwardArguments(),
               chunk.backward.getForwardOutputs(), arguments);
  auto op = RunBackwardOp::create(
      builder, loc, chunk.backward.getInputGradientTypes(),
      chunk.backward.getSymName(), task.microBatch, run.frame, arguments);
  llvm::append_range(run.inputGradients, op.getInputGradients());
  send(task, op.getInputGradients().drop_back(chunk.forward.getPast()));
  return op;
}

Operation *ScheduleBuilder::runBackwardWeights(const Task &task) {
  BackwardWeightsOp weights = chunks.get(task).weights;
  Run &run = getRun(task);
  SmallVector<Value> arguments;
  for (auto index : weights.getOutputGradients().getAsRange<IntegerAttr>())
    arguments.push_back(run.outputGradients[index.getInt()]);
  for (auto index : weights.getForwardArguments().getAsRange<IntegerAttr>())
    arguments.push_back(run.inputs[index.getInt()]);
  return RunBackwardWeightsOp::create(builder, loc, weights.getSymName(),
                                      task.microBatch, run.frame, arguments);
}

Operation *ScheduleBuilder::build(const Task &task) {
  loc = chunks.get(task).getFunction(task.phase)->getLoc();
  switch (task.phase) {
  case Phase::Forward:
    return runForward(task);
  case Phase::Backward:
  case Phase::InputGradient:
    return runBackward(task);
  case Phase::WeightGradient:
    return runBackwardWeights(task);
  case Phase::Recompute:
    return runRecompute(task);
  }
  llvm_unreachable("unknown phase");
}

/// Marks a run as sharing a slot with the next one. All tasks of a slot except
/// the last one are forwards and backwards.
static void setPaired(Operation *run) {
  if (auto forward = dyn_cast<RunForwardOp>(run))
    forward.setPaired(true);
  else
    cast<RunBackwardOp>(run).setPaired(true);
}

void ScheduleBuilder::build(int64_t stage, UpdateOp update) {
  builder.setInsertionPointToEnd(&model.getBody().front());
  auto op = ScheduleOp::create(builder, model.getLoc(), stage);
  builder.createBlock(&op.getBody());
  for (auto [position, task] : llvm::enumerate(schedule.stages[stage])) {
    Operation *run = build(task);
    if (schedule.isPairedWithNext(stage, static_cast<int64_t>(position)))
      setPaired(run);
  }
  if (update)
    RunUpdateOp::create(builder, update.getLoc(), update.getSymName());
}
