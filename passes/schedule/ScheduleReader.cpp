//===- ScheduleReader.cpp - Reads schedules from the IR -------------------===//

#include "passes/schedule/ScheduleReader.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mf;
using namespace mf::ir;
using mf::passes::MessageKey;
using mf::passes::ModelChunks;
using mf::passes::ModelSchedule;
using mf::schedule::Phase;
using mf::schedule::Task;

namespace {

class ScheduleReader {
public:
  ScheduleReader(ModelOp model, const ModelChunks &chunks)
      : model(model), chunks(chunks) {}

  FailureOr<ModelSchedule> read();

private:
  LogicalResult addSchedule(ScheduleOp schedule);
  LogicalResult addRun(Operation *run, StringRef function, int64_t microBatch);
  LogicalResult addSend(SendOp send);

  ModelOp model;
  const ModelChunks &chunks;
  ModelSchedule result;
  /// For each function, the task that it runs for micro-batch 0.
  llvm::StringMap<Task> functions;
};

LogicalResult ScheduleReader::addRun(Operation *run, StringRef function,
                                     int64_t microBatch) {
  auto found = functions.find(function);
  if (found == functions.end())
    return run->emitOpError("runs '") << function << "', which is of no chunk";
  Task task = found->second;
  task.microBatch = static_cast<int32_t>(microBatch);
  auto stage =
      static_cast<int64_t>(run->getParentOfType<ScheduleOp>().getStage());
  result.tasks[run] = task;
  result.schedule.stages[stage].push_back(task);
  result.runs[stage].push_back(run);
  return success();
}

LogicalResult ScheduleReader::addSend(SendOp send) {
  MessageKey key(send->getParentOfType<ScheduleOp>().getStage(),
                 send.getStage(), send.getChannel(), send.getMicroBatch(),
                 send.getPiece());
  auto [entry, isNew] = result.sends.try_emplace(key, send);
  if (isNew)
    return success();
  InFlightDiagnostic error = send.emitOpError("is the second message on its "
                                              "channel for micro-batch ")
                             << send.getMicroBatch();
  error.attachNote(entry->second.getLoc()) << "the first is here";
  return error;
}

LogicalResult ScheduleReader::addSchedule(ScheduleOp op) {
  auto stage = static_cast<int64_t>(op.getStage());
  if (stage < 0 || stage >= chunks.pipeline.stages)
    return op.emitOpError("is of stage ")
           << stage << ", but there are " << chunks.pipeline.stages;
  if (!result.schedule.stages[stage].empty())
    return op.emitOpError("is the second of stage ") << stage;
  for (Operation &task : op.getBody().front())
    if (failed(llvm::TypeSwitch<Operation *, LogicalResult>(&task)
                   .Case([&](RunForwardOp run) {
                     return addRun(run, run.getForward(), run.getMicroBatch());
                   })
                   .Case([&](RunRecomputeOp run) {
                     return addRun(run, run.getRecompute(),
                                   run.getMicroBatch());
                   })
                   .Case([&](RunBackwardOp run) {
                     return addRun(run, run.getBackward(), run.getMicroBatch());
                   })
                   .Case([&](RunBackwardWeightsOp run) {
                     return addRun(run, run.getWeights(), run.getMicroBatch());
                   })
                   .Case([&](SendOp send) { return addSend(send); })
                   .Case([&](AccumulateLossOp add) -> LogicalResult {
                     if (add.getLoss().getDefiningOp<RunForwardOp>())
                       return success();
                     return add.emitOpError("expected the output of a forward "
                                            "run");
                   })
                   .Case<LoadOp, LossGradientOp, ReceiveOp, RunUpdateOp>(
                       [](Operation *) { return success(); })
                   .Default([](Operation *op) {
                     return op->emitOpError("is not a task of a schedule");
                   })))
      return failure();
  return success();
}

FailureOr<ModelSchedule> ScheduleReader::read() {
  result.schedule.name = "mf.schedule";
  result.schedule.pipeline = chunks.pipeline;
  result.schedule.splitsBackward = chunks.splitsBackward();
  result.schedule.stages.resize(chunks.pipeline.stages);
  result.runs.resize(chunks.pipeline.stages);
  for (auto [number, chunk] : llvm::enumerate(chunks.chunks)) {
    auto place = static_cast<int64_t>(number);
    int64_t numChunks = chunks.pipeline.getNumChunks();
    auto add = [&](FunctionOpInterface function, Phase phase) {
      functions[function.getName()] = {
          phase, static_cast<int32_t>(place % numChunks), 0,
          static_cast<int32_t>(place / numChunks)};
    };
    add(chunk.forward, Phase::Forward);
    if (chunk.backward)
      add(chunk.backward,
          chunk.weights ? Phase::InputGradient : Phase::Backward);
    if (chunk.weights)
      add(chunk.weights, Phase::WeightGradient);
    if (chunk.recompute)
      add(chunk.recompute, Phase::Recompute);
  }
  for (auto op : model.getBody().getOps<ScheduleOp>())
    if (failed(addSchedule(op)))
      return failure();
  return std::move(result);
}

} // namespace

FailureOr<ModelSchedule> mf::passes::readSchedules(ModelOp model,
                                                   const ModelChunks &chunks) {
  return ScheduleReader(model, chunks).read();
}
