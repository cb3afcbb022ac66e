//===- BuildSchedule.cpp - One schedule per stage -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/PipelineRules.h"
#include "mf/Pipeline/Policy.h"
#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/PrintedPlan.h"
#include "passes/config/TrainingCheck.h"
#include "passes/schedule/ScheduleBuilder.h"

namespace mf::passes {
#define GEN_PASS_DEF_BUILDSCHEDULE
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf;
using namespace mf::ir;
using mf::passes::ChunkFunctions;
using mf::passes::ModelChunks;
using mf::schedule::Policy;

namespace {

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
             << parallel.getInterleave()
             << " (pp_interleave_num); give every one a layer by offset, or "
                "ask for fewer";
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
        << llvm::toString(policy.takeError()) << " (pipeline_scheduler)";
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
        << llvm::toString(schedule.takeError())
        << "; change pipeline_scheduler, pp_interleave_num, pipeline_stage or "
           "micro_batch_num";
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
    mf::passes::ScheduleBuilder builder(model, chunks, schedule, transfers);
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
