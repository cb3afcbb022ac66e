//===- BuildSchedule.cpp - One schedule per stage -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/KnownKeys.h"
#include "mf/Frontend/Config/ModelKeys.h"
#include "mf/Frontend/Config/PipelineSchedulers.h"
#include "mf/Pipeline/Policy.h"
#include "mf/Pipeline/TaskGraph.h"
#include "mf/Pipeline/Transfers.h"
#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/PrintedPlan.h"
#include "passes/schedule/ModelChunks.h"

namespace mf::passes {

#define GEN_PASS_DEF_BUILDSCHEDULE
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf;
using namespace mf::ir;
using mf::passes::ChunkFunctions;
using mf::passes::ModelChunks;
using mf::schedule::Phase;
using mf::schedule::Policy;
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

/// Marks a run as sharing a slot with the next one. All tasks of a slot except
/// the last one are forwards and backwards.
static void setPaired(Operation *run) {
  if (auto forward = dyn_cast<RunForwardOp>(run))
    forward.setPaired(true);
  else
    cast<RunBackwardOp>(run).setPaired(true);
}

namespace {

/// Makes the `mf.schedule` of each stage: the runs in the order of a schedule,
/// and between them loads, receives and sends.
class ScheduleBuilder {
public:
  ScheduleBuilder(ModelOp model, ModelChunks &chunks,
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

  /// Builds the schedule of a stage. `update` runs at the end, if there is one.
  void build(int64_t stage, UpdateOp update) {
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

private:
  /// The values that the runs of a chunk for a micro-batch pass to others.
  struct Run {
    llvm::SmallVector<mlir::Value> inputs, outputs;
    llvm::SmallVector<mlir::Value> outputGradients, inputGradients;
    mlir::Value frame;
  };

  /// These return the run that they make.
  mlir::Operation *build(const Task &task) {
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

  mlir::Operation *runForward(const Task &task) {
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

  mlir::Operation *runRecompute(const Task &task) {
    RecomputeOp recompute = chunks.get(task).recompute;
    Run &run = getRun(task);
    SmallVector<Value> arguments;
    addOfForward(run, recompute.getForwardArguments(),
                 recompute.getForwardOutputs(), arguments);
    return RunRecomputeOp::create(builder, loc, recompute.getSymName(),
                                  task.microBatch, run.frame, arguments);
  }

  mlir::Operation *runBackward(const Task &task) {
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

  mlir::Operation *runBackwardWeights(const Task &task) {
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

  void addInputs(const Task &task, Run &run) {
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

  void addOutputGradients(const Task &task, Run &run) {
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

  /// Adds the arguments and outputs of forward at these indices, which a
  /// function takes again.
  static void addOfForward(const Run &run, ArrayAttr arguments,
                           ArrayAttr outputs, SmallVectorImpl<Value> &values) {
    for (auto index : arguments.getAsRange<IntegerAttr>())
      values.push_back(run.inputs[index.getInt()]);
    for (auto index : outputs.getAsRange<IntegerAttr>())
      values.push_back(run.outputs[index.getInt()]);
  }

  mlir::Value load(const Task &task, int64_t argument) {
    ForwardOp forward = chunks.get(task).forward;
    ArrayAttr inputs = forward.getInputs();
    for (auto [number, kind, index] :
         llvm::enumerate(inputs.getAsRange<InputKindAttr>(),
                         forward.getInputIndices().getAsRange<IntegerAttr>())) {
      if (index.getInt() != argument)
        continue;
      int64_t microBatch =
          getMicroBatchOfInput(inputs, number, task.microBatch);
      Value &loaded = loads[{task.chunk, microBatch, kind.getValue()}];
      if (!loaded)
        loaded =
            LoadOp::create(builder, loc, forward.getArgumentTypes()[argument],
                           kind.getValue(), microBatch);
      return loaded;
    }
    return nullptr;
  }

  /// Add the values that earlier and later pieces pass to a run.
  void addPast(const Task &task, Run &run) {
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
  void addFutureGradients(const Task &task, Run &run) {
    if (chunks.get(task).forward.getFuture() == 0)
      return;
    Task later = task;
    ++later.piece;
    auto numRead = static_cast<int64_t>(chunks.get(later).forward.getPast());
    llvm::append_range(
        run.outputGradients,
        ArrayRef(getRun(later).inputGradients).take_back(numRead));
  }

  mlir::Value receive(const Task &task, int64_t value, Type type) {
    const Task producer = *getProducer(chunks.pipeline, task);
    return ReceiveOp::create(
        builder, loc, type, chunks.getStage(producer.chunk),
        getChannel(task.phase, producer.chunk, value), task.microBatch,
        task.piece, ahead.lookup(getNumber(task)));
  }

  /// Sends the results of `task` to the stage that reads them, if there is one.
  void send(const Task &task, ValueRange values) {
    std::optional<Task> reader = getReader(chunks.pipeline, task);
    if (!reader)
      return;
    for (auto [index, value] : llvm::enumerate(values))
      SendOp::create(
          builder, loc, value, chunks.getStage(reader->chunk),
          getChannel(task.phase, task.chunk, static_cast<int64_t>(index)),
          task.microBatch, task.piece, behind.lookup(getNumber(task)));
  }

  Run &getRun(const schedule::Task &task) {
    return runs[getPlace(task.chunk, task.microBatch, task.piece)];
  }
  int64_t getPlace(int64_t chunk, int64_t microBatch, int64_t piece) const {
    return (chunk * chunks.pipeline.microBatches + microBatch) *
               chunks.pipeline.pieces +
           piece;
  }
  int64_t getNumber(const schedule::Task &task) const {
    return static_cast<int64_t>(task.phase) *
               static_cast<int64_t>(runs.size()) +
           getPlace(task.chunk, task.microBatch, task.piece);
  }

  ir::ModelOp model;
  ModelChunks &chunks;
  const schedule::Schedule &schedule;
  mlir::OpBuilder builder;
  mlir::Location loc;
  std::vector<Run> runs;
  /// The step inputs that all pieces of a micro-batch read, by chunk,
  /// micro-batch of the step and kind. A run of several copies has as many
  /// micro-batches.
  llvm::DenseMap<std::tuple<int64_t, int64_t, ir::InputKind>, mlir::Value>
      loads;
  /// For each task, how early its inputs are received and how late its outputs
  /// are sent.
  llvm::DenseMap<int64_t, int64_t> ahead, behind;
};

/// Checks that every stage has the number of chunks that the training attribute
/// defines.
LogicalResult checkStages(ModelOp model, const ModelChunks &chunks) {
  ParallelAttr parallel = model.getTrainingAttr().getParallel();
  std::vector<int64_t> counts(chunks.pipeline.stages, 0);
  for (int64_t stage : chunks.pipeline.stageOfChunk)
    ++counts[stage];
  for (auto [stage, count] : llvm::enumerate(counts))
    if (count < parallel.getInterleave())
      return model.emitOpError("has ")
             << count << " chunks with layers on stage " << stage << " of "
             << parallel.getStages() << ", expected "
             << parallel.getInterleave() << " (" << keys::interleave.getName()
             << "); give every one a layer by " << keys::offset.getName()
             << ", or ask for fewer";
  return success();
}

/// Removes recompute tasks from the micro-batches for which the policy has
/// none.
LogicalResult chooseRecompute(ModelOp model, const Policy &policy,
                              ModelChunks &chunks) {
  schedule::Pipeline &pipeline = chunks.pipeline, chosen = pipeline;
  policy.chooseRecompute(chosen);
  for (int64_t chunk = 0; chunk < pipeline.getNumChunks(); ++chunk)
    for (int64_t run = 0; run < pipeline.microBatches; ++run) {
      if (!pipeline.recomputes(chunk, run) || chosen.recomputes(chunk, run))
        continue;
      ChunkFunctions &functions = chunks.chunks[chunk];
      if (!chunks.keeping[chunk].forward)
        return functions.recompute.emitOpError(
                   "recomputes for all micro-batches, but schedule '")
               << policy.getName() << "' does not for micro-batch " << run
               << "; run mf-split-chunks for it";
      pipeline.recomputed[chunk * pipeline.microBatches + run] = false;
    }
  return success();
}

FailureOr<schedule::Schedule> buildSchedule(ModelOp model,
                                            ModelChunks &chunks) {
  ParallelAttr parallel = model.getTrainingAttr().getParallel();
  StringRef name =
      getScheduleName(parallel.getScheduler(), parallel.getInterleave());
  llvm::Expected<const Policy *> policy = schedule::findPolicy(name);
  if (!policy) {
    model.emitOpError("cannot be scheduled: ")
        << llvm::toString(policy.takeError()) << " ("
        << known::nameOf(&ParallelConfig::pipelineScheduler) << ")";
    return failure();
  }
  if ((*policy)->splitsBackward() != chunks.splitsBackward()) {
    model.emitOpError("has backward functions that are ")
        << (chunks.splitsBackward() ? "" : "not ") << "split, but schedule '"
        << name << "' runs "
        << ((*policy)->splitsBackward() ? "gradients of inputs and of "
                                          "parameters apart; run "
                                          "mf-split-chunks for it"
                                        : "whole ones");
    return failure();
  }
  if (failed(chooseRecompute(model, **policy, chunks)))
    return failure();
  llvm::Expected<schedule::Schedule> schedule =
      schedule::buildSchedule(**policy, chunks.pipeline);
  if (!schedule) {
    model.emitOpError("cannot be scheduled: ")
        << llvm::toString(schedule.takeError()) << "; change "
        << known::nameOf(&ParallelConfig::pipelineScheduler) << ", "
        << keys::interleave.getName() << ", "
        << known::nameOf(&ParallelConfig::pipelineStage) << " or "
        << known::nameOf(&ParallelConfig::microBatchNum);
    return failure();
  }
  return std::move(*schedule);
}

struct BuildSchedulePass
    : mf::passes::PrintingPass<
          mf::passes::impl::BuildScheduleBase<BuildSchedulePass>> {
  using PrintingPass::PrintingPass;

  void runOnOperation() override {
    ModelOp model = getOperation();
    if (failed(mf::passes::checkTraining(model)))
      return signalPassFailure();
    FailureOr<ModelChunks> chunks = mf::passes::readChunks(model);
    if (failed(chunks) || failed(checkStages(model, *chunks)))
      return signalPassFailure();
    FailureOr<schedule::Schedule> schedule = buildSchedule(model, *chunks);
    if (failed(schedule))
      return signalPassFailure();
    std::vector<schedule::Transfer> transfers =
        schedule::planTransfers(*schedule);
    if (llvm::Error error = schedule::verifyTransfers(*schedule, transfers)) {
      model.emitOpError("cannot be scheduled: ")
          << llvm::toString(std::move(error));
      return signalPassFailure();
    }
    if (printPlan)
      schedule->print(mf::passes::PrintedPlan(model).os());
    build(*chunks, *schedule, transfers);
    emitRemarks(*chunks, *schedule);
  }

private:
  void build(ModelChunks &chunks, const schedule::Schedule &schedule,
             ArrayRef<schedule::Transfer> transfers) {
    ModelOp model = getOperation();
    DenseMap<int64_t, UpdateOp> updates;
    for (UpdateOp update : model.getBody().getOps<UpdateOp>())
      updates[static_cast<int64_t>(update.getStage())] = update;
    ScheduleBuilder builder(model, chunks, schedule, transfers);
    for (int64_t stage = 0; stage < chunks.pipeline.stages; ++stage)
      builder.build(stage, updates.lookup(stage));
  }

  void emitRemarks(const ModelChunks &chunks,
                   const schedule::Schedule &schedule) {
    ModelOp model = getOperation();
    auto options = remark::RemarkOpts::name("Schedule")
                       .category("schedule")
                       .function(model.getSymName());
    remark::analysis(model.getLoc(), options)
        << remark::add("the model runs {0}", schedule.name)
        << remark::metric("chunks", chunks.pipeline.getNumChunks())
        << remark::metric("micro-batches", chunks.pipeline.microBatches)
        << remark::metric(
               "ideal bubble",
               llvm::formatv("{0:F4}", schedule.getUnitBubble()).str());
    if (int64_t first = schedule.pipeline.firstTrained; first > 0)
      remark::passed(model.getLoc(), options)
          << remark::add("backward ends with the first chunk that is trained")
          << remark::metric("chunks without backward", first)
          << remark::metric("backward tasks not run",
                            first * schedule.pipeline.microBatches *
                                schedule.pipeline.pieces)
          << remark::metric("stage", schedule.pipeline.stageOfChunk[first]);
    for (int64_t stage = 0; stage < schedule.pipeline.stages; ++stage)
      remark::analysis(model.getLoc(), options)
          << remark::add("stage {0} runs {1}", stage, schedule.name)
          << remark::metric("tasks", schedule.stages[stage].size())
          << remark::metric("in flight", schedule.getMaxInFlight(stage))
          << remark::metric(
                 "in flight by chunk",
                 llvm::join(
                     llvm::map_range(
                         schedule.getMaxInFlightOfChunks(stage),
                         [](int64_t most) { return std::to_string(most); }),
                     ", "));
  }
};

} // namespace
