//===- BuildSchedule.cpp - One schedule per stage -------------------------===//

#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/schedule/SchedulePlan.h"

namespace mf::passes {
#define GEN_PASS_DEF_BUILDSCHEDULE
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;
using mf::passes::ScheduledRun;
using mf::passes::SchedulePlan;

namespace {

/// The two functions of a stage's chunk.
struct StageChunk {
  ForwardOp forward;
  BackwardOp backward;
};

/// True if the first result is the gradient of the hidden input.
bool hasInputGradient(BackwardOp backward) {
  return backward.getResultTypes().size() > backward.getGradients().size();
}

/// What 1F1B asks of a chunk: the first stage begins with step inputs, the
/// others with what the stage before sends, and send its gradient back.
LogicalResult checkChunk(StageChunk chunk, int64_t stage) {
  int64_t numArguments = chunk.forward.getNumArguments();
  int64_t numHidden =
      numArguments - static_cast<int64_t>(chunk.forward.getInputs().size());
  if (numHidden != (stage > 0 ? 1 : 0))
    return chunk.forward.emitOpError("expected ")
           << (stage > 0 ? "one hidden input" : "no hidden input")
           << " on stage " << stage << ", but has " << numHidden;
  if (hasInputGradient(chunk.backward) != (stage > 0))
    return chunk.backward.emitOpError("expected ")
           << (stage > 0 ? "a" : "no")
           << " gradient of the hidden input on stage " << stage;
  for (auto index :
       chunk.backward.getForwardArguments().getAsRange<IntegerAttr>())
    if (index.getInt() >= numArguments)
      return chunk.backward.emitOpError("reads argument ")
             << index.getInt() << " of its forward function, which has "
             << numArguments;
  return success();
}

/// Finds the one chunk of each stage.
FailureOr<std::vector<StageChunk>> findChunks(ModelOp model, int64_t stages) {
  std::vector<StageChunk> chunks(stages);
  auto getSlot = [&](Operation *op, PlacementAttr placement) -> StageChunk * {
    if (placement.getStage() < 0 || placement.getStage() >= stages ||
        placement.getChunk() != 0) {
      op->emitOpError("is chunk ")
          << placement.getChunk() << " of stage " << placement.getStage()
          << ", but 1F1B has one chunk on each of " << stages << " stages";
      return nullptr;
    }
    return &chunks[placement.getStage()];
  };
  for (ForwardOp forward : model.getBody().getOps<ForwardOp>()) {
    StageChunk *chunk = getSlot(forward, forward.getPlacement());
    if (!chunk)
      return failure();
    chunk->forward = forward;
  }
  for (BackwardOp backward : model.getBody().getOps<BackwardOp>()) {
    StageChunk *chunk = getSlot(backward, backward.getPlacement());
    if (!chunk)
      return failure();
    chunk->backward = backward;
  }
  for (auto [stage, chunk] : llvm::enumerate(chunks)) {
    if (!chunk.forward || !chunk.backward)
      return model.emitOpError("has no forward or no backward function for "
                               "stage ")
             << stage;
    if (failed(checkChunk(chunk, static_cast<int64_t>(stage))))
      return failure();
  }
  return chunks;
}

/// Builds the schedule of one stage.
class ScheduleBuilder {
public:
  ScheduleBuilder(ModelOp model, StageChunk chunk, const SchedulePlan &plan,
                  int64_t stages)
      : model(model), chunk(chunk), plan(plan), stages(stages),
        builder(model.getContext()),
        microBatches(model.getTrainingAttr().getParallel().getMicroBatches()) {}

  void build(UpdateOp update);

private:
  void runForward(int64_t microBatch);
  void runBackward(int64_t microBatch);
  std::string getChannel(StringRef direction, int64_t from) {
    return (direction + "." + Twine(from)).str();
  }

  ModelOp model;
  StageChunk chunk;
  const SchedulePlan &plan;
  int64_t stages;
  OpBuilder builder;
  int64_t microBatches;
  /// Per micro-batch: arguments of forward, and its frame.
  DenseMap<int64_t, SmallVector<Value>> inputs;
  DenseMap<int64_t, Value> frames;
};

void ScheduleBuilder::runForward(int64_t microBatch) {
  Location loc = chunk.forward.getLoc();
  SmallVector<Value> &arguments = inputs[microBatch];
  for (auto [index, type] : llvm::enumerate(chunk.forward.getArgumentTypes())) {
    Value argument;
    for (auto [kind, position] :
         llvm::zip(chunk.forward.getInputs().getAsRange<InputKindAttr>(),
                   chunk.forward.getInputIndices().getAsRange<IntegerAttr>()))
      if (position.getInt() == static_cast<int64_t>(index))
        argument =
            LoadOp::create(builder, loc, type, kind.getValue(), microBatch);
    if (!argument)
      argument =
          ReceiveOp::create(builder, loc, type, plan.stage - 1,
                            getChannel("forward", plan.stage - 1), microBatch);
    arguments.push_back(argument);
  }
  auto frameType =
      FrameType::get(model.getContext(),
                     FlatSymbolRefAttr::get(chunk.forward.getSymNameAttr()));
  auto run = RunForwardOp::create(
      builder, loc, chunk.forward.getResultTypes().front(), frameType,
      chunk.forward.getSymName(), microBatch, arguments);
  frames[microBatch] = run.getFrame();
  if (plan.stage + 1 < stages)
    SendOp::create(builder, loc, run.getOutput(), plan.stage + 1,
                   getChannel("forward", plan.stage), microBatch);
  else
    AccumulateLossOp::create(builder, loc, run.getOutput());
}

void ScheduleBuilder::runBackward(int64_t microBatch) {
  Location loc = chunk.backward.getLoc();
  Type outputType = chunk.forward.getResultTypes().front();
  Value gradient;
  if (plan.stage + 1 < stages)
    gradient =
        ReceiveOp::create(builder, loc, outputType, plan.stage + 1,
                          getChannel("backward", plan.stage + 1), microBatch);
  else
    gradient = LossGradientOp::create(
        builder, loc, outputType,
        builder.getF64FloatAttr(1.0 / static_cast<double>(microBatches)),
        model.getTrainingAttr().scalesLoss() ? builder.getUnitAttr() : nullptr);
  SmallVector<Value> arguments;
  for (Attribute index : chunk.backward.getForwardArguments())
    arguments.push_back(inputs[microBatch][cast<IntegerAttr>(index).getInt()]);
  bool sendsGradient = hasInputGradient(chunk.backward);
  auto run = RunBackwardOp::create(
      builder, loc,
      sendsGradient ? chunk.backward.getResultTypes().front() : Type(),
      chunk.backward.getSymName(), microBatch, frames[microBatch], gradient,
      arguments);
  if (sendsGradient)
    SendOp::create(builder, loc, run.getInputGradient(), plan.stage - 1,
                   getChannel("backward", plan.stage), microBatch);
}

void ScheduleBuilder::build(UpdateOp update) {
  builder.setInsertionPointToEnd(&model.getBody().front());
  auto schedule = ScheduleOp::create(builder, model.getLoc(), plan.stage);
  builder.createBlock(&schedule.getBody());
  for (const ScheduledRun &run : plan.runs)
    if (run.phase == ScheduledRun::Phase::Forward)
      runForward(run.microBatch);
    else
      runBackward(run.microBatch);
  if (update)
    RunUpdateOp::create(builder, update.getLoc(), update.getSymName());
}

struct BuildSchedulePass
    : mf::passes::impl::BuildScheduleBase<BuildSchedulePass> {
  using BuildScheduleBase::BuildScheduleBase;

  void runOnOperation() override {
    ModelOp model = getOperation();
    TrainingAttr training = model.getTrainingAttr();
    if (!training) {
      model.emitOpError("has no training configuration; run mf-read-config "
                        "first");
      return signalPassFailure();
    }
    int64_t stages = training.getParallel().getStages();
    int64_t microBatches = training.getParallel().getMicroBatches();
    FailureOr<std::vector<StageChunk>> chunks = findChunks(model, stages);
    if (failed(chunks))
      return signalPassFailure();
    DenseMap<int64_t, UpdateOp> updates;
    for (UpdateOp update : model.getBody().getOps<UpdateOp>())
      updates[update.getStage()] = update;
    for (int64_t stage = 0; stage < stages; ++stage) {
      SchedulePlan plan =
          mf::passes::planOneForwardOneBackward(stage, stages, microBatches);
      if (printPlan)
        plan.print(llvm::errs());
      ScheduleBuilder(model, (*chunks)[stage], plan, stages)
          .build(updates.lookup(stage));
      remark::analysis(model.getLoc(), remark::RemarkOpts::name("Schedule")
                                           .category("schedule")
                                           .function(model.getSymName()))
          << remark::add("stage {0} runs 1F1B", stage)
          << remark::metric("micro-batches", microBatches)
          << remark::metric("in flight", plan.getMaxInFlight());
    }
  }
};

} // namespace
