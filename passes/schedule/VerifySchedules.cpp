//===- VerifySchedules.cpp - Proof that all stages can run ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Pipeline/ScheduleError.h"
#include "mf/Pipeline/TaskGraph.h"
#include "mf/Pipeline/Transfers.h"
#include "passes/schedule/ModelChunks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include <map>
#include <tuple>

using namespace mlir;
using namespace mf;
using namespace mf::ir;
using mf::passes::ChunkFunctions;
using mf::passes::ModelChunks;
using mf::schedule::Phase;
using mf::schedule::Task;

namespace {

/// The key by which sends and receives are matched: sending and receiving
/// stage, channel, micro-batch and piece.
using MessageKey =
    std::tuple<int64_t, int64_t, llvm::StringRef, int64_t, int64_t>;

/// The `mf.schedule`s of a model as one schedule.
struct ModelSchedule {
  schedule::Schedule schedule;
  /// For each stage and position, the operator that runs the task.
  std::vector<std::vector<mlir::Operation *>> runs;
  /// The task that each of these operators runs, by stage.
  llvm::MapVector<mlir::Operation *, schedule::Task> tasks;
  std::map<MessageKey, ir::SendOp> sends;
};

class ScheduleReader {
public:
  ScheduleReader(ModelOp model, ModelChunks &chunks)
      : model(model), chunks(chunks) {}

  FailureOr<ModelSchedule> read() {
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

private:
  LogicalResult addSchedule(ScheduleOp op) {
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
                       return add.emitOpError(
                           "expected the output of a forward run");
                     })
                     .Case<LoadOp, LossGradientOp, ReceiveOp, RunUpdateOp>(
                         [](Operation *) { return success(); })
                     .Default([](Operation *op) {
                       return op->emitOpError("is not a task of a schedule");
                     })))
        return failure();
    return success();
  }

  LogicalResult addRun(Operation *run, StringRef function, int64_t microBatch,
                       bool isPaired = false) {
    auto found = functions.find(function);
    if (found == functions.end())
      return run->emitOpError("runs '")
             << function << "', which is of no chunk";
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

  LogicalResult addSend(SendOp send) {
    MessageKey key(send->getParentOfType<ScheduleOp>().getStage(),
                   send.getStage(), send.getChannel(), send.getMicroBatch(),
                   send.getPiece());
    auto [entry, isNew] = result.sends.try_emplace(key, send);
    if (isNew)
      return success();
    InFlightDiagnostic error =
        send.emitOpError(
            "is the second message on its channel for micro-batch ")
        << send.getMicroBatch();
    error.attachNote(entry->second.getLoc()) << "the first is here";
    return error;
  }

  void addFunctions(const ChunkFunctions &chunk, int64_t number) {
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

  /// If a chunk has two versions, the one that runs forward determines whether
  /// the micro-batch recomputes.
  void noteVersion(const Task &task, StringRef function) {
    schedule::Pipeline &pipeline = chunks.pipeline;
    const int64_t number = task.piece * pipeline.getNumChunks() + task.chunk;
    if (task.phase == Phase::Forward && chunks.keeping[number].forward &&
        task.microBatch >= 0 && task.microBatch < pipeline.microBatches)
      pipeline
          .recomputed[task.chunk * pipeline.microBatches + task.microBatch] =
          function == chunks.chunks[number].forward.getSymName();
  }

  /// Checks that every slot has an end. Schedules without slots of several
  /// tasks have no list of them.
  LogicalResult checkPairs() {
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

  ModelOp model;
  ModelChunks &chunks;
  ModelSchedule result;
  /// For each function, the task that it runs for micro-batch 0.
  llvm::StringMap<Task> functions;
};

} // namespace

/// Reads the schedules of `model`, which has `chunks`. Fails if a stage has two
/// schedules or is not part of the pipeline, if two messages have the same key,
/// or if an operator is not a task. It does not check that the stages can run
/// the schedule. For a chunk with two versions it sets in the pipeline of
/// `chunks` which version runs for which micro-batch.
static FailureOr<ModelSchedule> readSchedules(ModelOp model,
                                              ModelChunks &chunks) {
  return ScheduleReader(model, chunks).read();
}

namespace {

/// Checks that all stages together can run, and that each run reads the values
/// of the right run.
class ScheduleVerifier {
public:
  ScheduleVerifier(ModelOp model, ModelChunks &chunks, ModelSchedule &schedules)
      : model(model), chunks(chunks), schedule(schedules.schedule),
        runs(schedules.runs), tasks(schedules.tasks), sends(schedules.sends) {}

  LogicalResult verify() {
    if (failed(checkLossGradients()))
      return failure();
    // A model may have only updates.
    if (!chunks.chunks.empty() && failed(checkRuns()))
      return failure();
    for (const auto &[key, send] : sends)
      if (!received.contains(send))
        return SendOp(send).emitOpError("sends a message that no run of stage ")
               << std::get<1>(key) << " reads";
    if (chunks.chunks.empty())
      return success();
    if (llvm::Error error = schedule::verifyTransfers(schedule, transfers))
      return report(std::move(error));
    return success();
  }

private:
  LogicalResult checkRuns() {
    if (llvm::Error error = schedule.verify())
      return report(std::move(error));
    for (const auto &[run, task] : tasks)
      if (failed(checkRun(run)))
        return failure();
    return success();
  }

  LogicalResult checkRun(Operation *run) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(run)
        .Case([&](RunForwardOp op) { return checkForward(op); })
        .Case([&](RunRecomputeOp op) { return checkRecompute(op); })
        .Case([&](RunBackwardOp op) { return checkBackward(op); })
        .Case([&](RunBackwardWeightsOp op) { return checkWeights(op); });
  }

  /// Checks that the step's loss includes each loss once.
  LogicalResult checkLosses(RunForwardOp run) {
    for (auto [number, output] : llvm::enumerate(run.getOutputs())) {
      int64_t added = llvm::count_if(output.getUsers(), [](Operation *user) {
        return isa<AccumulateLossOp>(user);
      });
      if (isLoss(output.getType()) && added != 1)
        return run.emitOpError("expected its output ")
               << number << ", a loss, to be accumulated once, but it is "
               << added << " times";
    }
    return success();
  }

  LogicalResult checkLossGradients() {
    LossGradientOp first;
    for (auto stage : model.getBody().getOps<ScheduleOp>())
      for (auto loss : stage.getBody().getOps<LossGradientOp>()) {
        if (!first)
          first = loss;
        if (loss.getValueAttr() == first.getValueAttr() &&
            loss.getScaled() == first.getScaled() &&
            loss.getType() == first.getType())
          continue;
        InFlightDiagnostic error = loss.emitOpError(
            "expected the same gradient for all losses of a step");
        error.attachNote(first.getLoc()) << "another one is here";
        return error;
      }
    return success();
  }

  LogicalResult checkForward(RunForwardOp run) {
    const Task task = tasks[run];
    ChunkFunctions &chunk = chunks.get(task);
    ArrayAttr inputs = chunk.forward.getInputs();
    for (auto [number, kind, index] : llvm::enumerate(
             inputs.getAsRange<InputKindAttr>(),
             chunk.forward.getInputIndices().getAsRange<IntegerAttr>())) {
      int64_t microBatch =
          getMicroBatchOfInput(inputs, number, task.microBatch);
      auto load = run.getInputs()[index.getInt()].getDefiningOp<LoadOp>();
      if (!load || load.getInput() != kind.getValue() ||
          static_cast<int64_t>(load.getMicroBatch()) != microBatch)
        return run.emitOpError("expected to load the ")
               << stringifyInputKind(kind.getValue()) << " of micro-batch "
               << microBatch << " as argument " << index.getInt();
    }
    for (auto [number, index] : llvm::enumerate(chunk.getHiddenArguments()))
      if (failed(checkMessage(run, run.getInputs()[index],
                              *getChunkInput(chunks.pipeline, task),
                              static_cast<int64_t>(number))))
        return failure();
    if (failed(checkPast(run)))
      return failure();
    return checkLosses(run);
  }

  LogicalResult checkRecompute(RunRecomputeOp run) {
    RecomputeOp function = chunks.get(tasks[run]).recompute;
    const size_t numArguments = function.getForwardArguments().size();
    if (failed(checkFrame(run, run.getFrame())) ||
        failed(checkForwardArguments(
            run, run.getFrame(), run.getArguments().take_front(numArguments),
            function.getForwardArguments())))
      return failure();
    return checkForwardOutputs(run, run.getFrame(),
                               run.getArguments().drop_front(numArguments),
                               function.getForwardOutputs());
  }

  LogicalResult checkBackward(RunBackwardOp run) {
    BackwardOp function = chunks.get(tasks[run]).backward;
    auto numOutputs = static_cast<int64_t>(function.getOutputs());
    ValueRange read = run.getArguments().drop_front(numOutputs);
    size_t numArguments = function.getForwardArguments().size();
    if (failed(checkFrame(run, run.getFrame())) ||
        failed(checkOutputGradients(
            run, run.getArguments().take_front(numOutputs))) ||
        failed(checkForwardArguments(run, run.getFrame(),
                                     read.take_front(numArguments),
                                     function.getForwardArguments())))
      return failure();
    return checkForwardOutputs(run, run.getFrame(),
                               read.drop_front(numArguments),
                               function.getForwardOutputs());
  }

  LogicalResult checkWeights(RunBackwardWeightsOp run) {
    if (failed(checkFrame(run, run.getFrame())))
      return failure();
    BackwardWeightsOp function = chunks.get(tasks[run]).weights;
    auto users =
        llvm::make_filter_range(run.getFrame().getUsers(), [](Operation *user) {
          return isa<RunBackwardOp>(user);
        });
    auto backward = cast<RunBackwardOp>(*users.begin());
    auto outputs = function.getOutputGradients().getAsRange<IntegerAttr>();
    size_t numOutputs = function.getOutputGradients().size();
    for (auto [argument, output] : llvm::zip(run.getArguments(), outputs))
      if (argument != backward.getArguments()[output.getInt()])
        return run.emitOpError("expected the gradient of output ")
               << output.getInt() << " that " << getName(tasks[backward])
               << " reads";
    return checkForwardArguments(run, run.getFrame(),
                                 run.getArguments().drop_front(numOutputs),
                                 function.getForwardArguments());
  }

  LogicalResult checkOutputGradients(RunBackwardOp run, ValueRange gradients) {
    const Task task = tasks[run];
    ForwardOp forward = chunks.get(task).forward;
    size_t numLater =
        forward.getFuture() > 0 ? forward.getPast() + forward.getFuture() : 0;
    if (failed(checkFutureGradients(run, gradients.take_back(numLater))))
      return failure();
    for (auto [output, gradient] :
         llvm::enumerate(gradients.drop_back(numLater))) {
      if (!isLoss(gradient.getType())) {
        if (failed(checkMessage(run, gradient,
                                *getChunkInput(chunks.pipeline, task),
                                static_cast<int64_t>(output))))
          return failure();
      } else if (!gradient.getDefiningOp<LossGradientOp>()) {
        return run.emitOpError("expected the gradient of a loss for output ")
               << output;
      }
    }
    return success();
  }

  /// Checks that the last inputs are the values that earlier pieces of the
  /// sequence returned.
  LogicalResult checkPast(RunForwardOp run) {
    const Task task = tasks[run];
    ValueRange past =
        run.getInputs().take_back(chunks.get(task).forward.getPast());
    for (int32_t piece = 0; piece < task.piece; ++piece) {
      const Task earlier{Phase::Forward, task.chunk, task.microBatch, piece};
      ForwardOp forward = chunks.get(earlier).forward;
      auto first =
          static_cast<int64_t>(forward.getOutputs() - forward.getFuture());
      for (auto [number, value] :
           llvm::enumerate(past.take_front(forward.getFuture())))
        if (failed(checkMessage(run, value, earlier,
                                first + static_cast<int64_t>(number))))
          return failure();
      past = past.drop_front(forward.getFuture());
    }
    return success();
  }

  /// Checks that the last gradients are those of all values of the sequence up
  /// to this piece, as accumulated by the next piece.
  LogicalResult checkFutureGradients(RunBackwardOp run, ValueRange gradients) {
    const Task task = tasks[run];
    const Task later{task.phase, task.chunk, task.microBatch, task.piece + 1};
    if (gradients.empty())
      return success();
    auto first = static_cast<int64_t>(
        chunks.get(later).backward.getInputGradientTypes().size() -
        gradients.size());
    for (auto [number, gradient] : llvm::enumerate(gradients))
      if (failed(checkMessage(run, gradient, later,
                              first + static_cast<int64_t>(number))))
        return failure();
    return success();
  }

  LogicalResult checkFrame(Operation *run, Value frame) {
    const Task task = tasks[run];
    const Task maker{Phase::Forward, task.chunk, task.microBatch, task.piece};
    if (tasks.lookup(frame.getDefiningOp()) == maker)
      return success();
    return run->emitOpError("is ")
           << getName(task) << " and expected the frame "
           << "of " << getName(maker);
  }

  LogicalResult checkForwardArguments(Operation *run, Value frame,
                                      ValueRange arguments, ArrayAttr indices) {
    auto forward = frame.getDefiningOp<RunForwardOp>();
    for (auto [argument, index] :
         llvm::zip_equal(arguments, indices.getAsRange<IntegerAttr>()))
      if (argument != forward.getInputs()[index.getInt()])
        return run->emitOpError("expected input ")
               << index.getInt() << " of " << getName(tasks[forward])
               << ", which its function reads again";
    return success();
  }

  LogicalResult checkForwardOutputs(Operation *run, Value frame,
                                    ValueRange values, ArrayAttr indices) {
    auto forward = frame.getDefiningOp<RunForwardOp>();
    for (auto [value, index] :
         llvm::zip_equal(values, indices.getAsRange<IntegerAttr>()))
      if (value != forward.getOutputs()[index.getInt()])
        return run->emitOpError("expected output ")
               << index.getInt() << " of " << getName(tasks[forward])
               << ", which its function reads again";
    return success();
  }

  /// Checks that `run` reads result `number` of task `maker`, directly on its
  /// stage or through a message.
  LogicalResult checkMessage(Operation *run, Value value, const Task &maker,
                             int64_t number) {
    Value source = value;
    auto receive = value.getDefiningOp<ReceiveOp>();
    SendOp send;
    if (receive) {
      MessageKey key(
          receive.getStage(), receive->getParentOfType<ScheduleOp>().getStage(),
          receive.getChannel(), receive.getMicroBatch(), receive.getPiece());
      auto found = sends.find(key);
      if (found == sends.end())
        return receive.emitOpError("waits for a message that stage ")
               << receive.getStage() << " does not send";
      send = found->second;
      received.insert(send);
      source = send.getValue();
    }
    auto result = dyn_cast<OpResult>(source);
    auto made = result ? tasks.find(result.getOwner()) : tasks.end();
    if (made == tasks.end() || made->second != maker ||
        static_cast<int64_t>(result.getResultNumber()) != number) {
      InFlightDiagnostic error = run->emitOpError("is ")
                                 << getName(tasks[run])
                                 << " and expected result " << number << " of "
                                 << getName(maker) << ", but reads ";
      if (made == tasks.end())
        error << "something else";
      else
        error << "result " << result.getResultNumber() << " of "
              << getName(made->second);
      error.attachNote(source.getLoc()) << "it is made here";
      return error;
    }
    if (receive)
      addTransfer(receive, send, maker, tasks[run]);
    return success();
  }

  void addTransfer(ReceiveOp receive, SendOp send, const Task &producer,
                   const Task &reader) {
    auto ahead = static_cast<int64_t>(receive.getAhead());
    auto behind = static_cast<int64_t>(send.getBehind());
    // If there are several messages between two runs, the strictest one counts.
    if (!transfers.empty() && transfers.back().reader == reader &&
        transfers.back().producer == producer) {
      transfers.back().ahead = std::min(transfers.back().ahead, ahead);
      transfers.back().behind = std::min(transfers.back().behind, behind);
      return;
    }
    transfers.push_back({producer, reader, ahead, behind});
  }

  /// Reports the library's error with notes at the runs that it names.
  LogicalResult report(llvm::Error error) {
    InFlightDiagnostic diagnostic =
        model.emitOpError("has schedules that cannot run: ");
    llvm::handleAllErrors(
        std::move(error), [&](const llvm::ErrorInfoBase &info) {
          diagnostic << info.message();
          if (info.isA<schedule::ScheduleError>())
            for (auto [stage, position] :
                 static_cast<const schedule::ScheduleError &>(info).getPlaces())
              diagnostic.attachNote(runs[stage][position]->getLoc())
                  << "task " << position << " of stage " << stage << " is here";
        });
    return diagnostic;
  }

  std::string getName(const Task &task) const {
    return chunks.pipeline.getName(task);
  }

  ModelOp model;
  ModelChunks &chunks;
  const schedule::Schedule &schedule;
  std::vector<std::vector<Operation *>> &runs;
  llvm::MapVector<Operation *, Task> &tasks;
  std::map<MessageKey, SendOp> &sends;
  /// The transfers that were found between runs.
  std::vector<schedule::Transfer> transfers;
  DenseSet<Operation *> received;
};

} // namespace

LogicalResult mf::passes::verifySchedules(ModelOp model, ModelChunks &chunks) {
  FailureOr<ModelSchedule> schedules = readSchedules(model, chunks);
  if (failed(schedules))
    return failure();
  return ScheduleVerifier(model, chunks, *schedules).verify();
}
