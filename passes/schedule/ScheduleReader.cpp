//===- ScheduleReader.cpp - Reads schedules from the IR -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/schedule/ScheduleReader.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mf;
using namespace mf::ir;
using mf::passes::ChunkFunctions;
using mf::passes::MessageKey;
using mf::passes::ModelChunks;
using mf::passes::ModelSchedule;
using mf::schedule::Phase;
using mf::schedule::Task;

namespace {

class ScheduleReader {
public:
  ScheduleReader(ModelOp model, ModelChunks &chunks)
      : model(model), chunks(chunks) {}

  FailureOr<ModelSchedule> read();

private:
  LogicalResult addSchedule(ScheduleOp schedule);
  LogicalResult addRun(Operation *run, StringRef function, int64_t microBatch,
                       bool isPaired = false);
  LogicalResult addSend(SendOp send);
  void addFunctions(const ChunkFunctions &chunk, int64_t number);
  void noteVersion(const Task &task, StringRef function);
  LogicalResult checkPairs();

  ModelOp model;
  ModelChunks &chunks;
  ModelSchedule result;
  /// For each function, the task that it runs for micro-batch 0.
  llvm::StringMap<Task> functions;
};

LogicalResult ScheduleReader::addRun(Operation *run, StringRef function,
                                     int64_t microBatch, bool isPaired) {
  auto found = functions.find(function);
  if (found == functions.end())
    return run->emitOpError("runs '") << function << "', which is of no chunk";
  Task task = found->second;
  task.microBatch = static_cast<int32_t>(microBatch);
  auto stage =
      static_cast<int64_t>(run->getParentOfType<ScheduleOp>().getStage());
  noteVersion(task, function);
  result.tasks[run] = task;
  result.schedule.stages[stage].push_back(task);
  result.runs[stage].push_back(run);
  result.schedule.pairs[stage].push_back(isPaired);
  return success();
}

/// If a chunk has two versions, the one that runs forward determines whether
/// the micro-batch recomputes.
void ScheduleReader::noteVersion(const Task &task, StringRef function) {
  schedule::Pipeline &pipeline = chunks.pipeline;
  const int64_t number = task.piece * pipeline.getNumChunks() + task.chunk;
  if (task.phase == Phase::Forward && chunks.keeping[number].forward &&
      task.microBatch >= 0 && task.microBatch < pipeline.microBatches)
    pipeline.recomputed[task.chunk * pipeline.microBatches + task.microBatch] =
        function == chunks.chunks[number].forward.getSymName();
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
                     return addRun(run, run.getForward(),
                                   static_cast<int64_t>(run.getMicroBatch()),
                                   run.getPaired());
                   })
                   .Case([&](RunRecomputeOp run) {
                     return addRun(run, run.getRecompute(),
                                   static_cast<int64_t>(run.getMicroBatch()));
                   })
                   .Case([&](RunBackwardOp run) {
                     return addRun(run, run.getBackward(),
                                   static_cast<int64_t>(run.getMicroBatch()),
                                   run.getPaired());
                   })
                   .Case([&](RunBackwardWeightsOp run) {
                     return addRun(run, run.getWeights(),
                                   static_cast<int64_t>(run.getMicroBatch()));
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

void ScheduleReader::addFunctions(const ChunkFunctions &chunk, int64_t number) {
  const int64_t numChunks = chunks.pipeline.getNumChunks();
  for (Phase phase : {Phase::Forward, Phase::Backward, Phase::WeightGradient,
                      Phase::Recompute})
    if (Operation *function = chunk.getFunction(phase))
      functions[cast<FunctionOpInterface>(function).getName()] = {
          phase == Phase::Backward && chunk.weights ? Phase::InputGradient
                                                    : phase,
          static_cast<int32_t>(number % numChunks), 0,
          static_cast<int32_t>(number / numChunks)};
}

/// Checks that every slot has an end. Schedules without slots of several tasks
/// have no list of them.
LogicalResult ScheduleReader::checkPairs() {
  std::vector<std::vector<bool>> &pairs = result.schedule.pairs;
  for (auto [ofStage, runs] : llvm::zip_equal(pairs, result.runs))
    if (!ofStage.empty() && ofStage.back())
      return runs.back()->emitOpError(
          "is paired with the next run of its stage, but there is none");
  if (llvm::none_of(pairs, [](const std::vector<bool> &ofStage) {
        return llvm::is_contained(ofStage, true);
      }))
    pairs.clear();
  return success();
}

FailureOr<ModelSchedule> ScheduleReader::read() {
  result.schedule.name = "mf.schedule";
  result.schedule.splitsBackward = chunks.splitsBackward();
  result.schedule.stages.resize(chunks.pipeline.stages);
  result.schedule.pairs.resize(chunks.pipeline.stages);
  result.runs.resize(chunks.pipeline.stages);
  for (auto [number, chunk] : llvm::enumerate(chunks.chunks))
    addFunctions(chunk, static_cast<int64_t>(number));
  for (auto [number, chunk] : llvm::enumerate(chunks.keeping))
    if (chunk.forward)
      addFunctions(chunk, static_cast<int64_t>(number));
  for (auto op : model.getBody().getOps<ScheduleOp>())
    if (failed(addSchedule(op)))
      return failure();
  result.schedule.pipeline = chunks.pipeline;
  if (failed(checkPairs()))
    return failure();
  return std::move(result);
}

} // namespace

FailureOr<ModelSchedule> mf::passes::readSchedules(ModelOp model,
                                                   ModelChunks &chunks) {
  return ScheduleReader(model, chunks).read();
}
