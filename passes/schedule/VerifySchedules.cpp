//===- VerifySchedules.cpp - Whether all stages can run -------------------===//

#include "passes/schedule/VerifySchedules.h"
#include "mf/Schedule/Transfers.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Regex.h"
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

/// The schedules of a model, read back as one mf::schedule::Schedule.
class ScheduleReader {
public:
  ScheduleReader(ModelOp model, ModelChunks &chunks)
      : model(model), chunks(chunks) {}

  LogicalResult read();
  /// After read(): that all stages together can run.
  LogicalResult verify();

private:
  /// Receiving stage, channel and micro-batch.
  using MessageKey = std::tuple<int64_t, int64_t, StringRef, int64_t>;

  LogicalResult addSchedule(ScheduleOp schedule);
  LogicalResult addRun(Operation *run, StringRef function, int64_t microBatch);
  LogicalResult addSend(SendOp send);
  LogicalResult checkRuns();
  LogicalResult checkRun(Operation *run);
  LogicalResult checkLosses(RunForwardOp run);
  LogicalResult addLossGradient(LossGradientOp loss);
  LogicalResult checkForward(RunForwardOp run);
  LogicalResult checkBackward(RunBackwardOp run);
  LogicalResult checkWeights(RunBackwardWeightsOp run);
  LogicalResult checkOutputGradients(RunBackwardOp run, ValueRange gradients);
  LogicalResult checkFrame(Operation *run, Value frame);
  LogicalResult checkForwardArguments(Operation *run, Value frame,
                                      ValueRange arguments, ArrayAttr indices);
  LogicalResult checkMessage(Operation *run, Value value, const Task &maker,
                             int64_t number);
  void addTransfer(ReceiveOp receive, SendOp send, const Task &producer,
                   const Task &reader);
  LogicalResult report(llvm::Error error);
  std::string getName(const Task &task) const {
    return chunks.pipeline.getName(task);
  }

  ModelOp model;
  ModelChunks &chunks;
  schedule::Schedule schedule;
  std::vector<schedule::Transfer> transfers;
  /// By stage, the runs in order.
  std::vector<std::vector<Operation *>> runs;
  llvm::MapVector<Operation *, Task> tasks;
  llvm::StringMap<std::pair<Phase, int64_t>> functions;
  std::map<MessageKey, SendOp> sends;
  DenseSet<Operation *> received;
  LossGradientOp firstLossGradient;
};

//===----------------------------------------------------------------------===//
// Runs and messages
//===----------------------------------------------------------------------===//

LogicalResult ScheduleReader::addRun(Operation *run, StringRef function,
                                     int64_t microBatch) {
  auto found = functions.find(function);
  if (found == functions.end())
    return run->emitOpError("runs '") << function << "', which is of no chunk";
  auto [phase, chunk] = found->second;
  Task task{phase, static_cast<int32_t>(chunk),
            static_cast<int32_t>(microBatch)};
  auto stage =
      static_cast<int64_t>(run->getParentOfType<ScheduleOp>().getStage());
  tasks[run] = task;
  schedule.stages[stage].push_back(task);
  runs[stage].push_back(run);
  return success();
}

LogicalResult ScheduleReader::addSend(SendOp send) {
  MessageKey key(send->getParentOfType<ScheduleOp>().getStage(),
                 send.getStage(), send.getChannel(), send.getMicroBatch());
  auto [entry, isNew] = sends.try_emplace(key, send);
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
  if (!schedule.stages[stage].empty())
    return op.emitOpError("is the second of stage ") << stage;
  for (Operation &task : op.getBody().front())
    if (failed(llvm::TypeSwitch<Operation *, LogicalResult>(&task)
                   .Case([&](RunForwardOp run) {
                     return addRun(run, run.getForward(), run.getMicroBatch());
                   })
                   .Case([&](RunBackwardOp run) {
                     return addRun(run, run.getBackward(), run.getMicroBatch());
                   })
                   .Case([&](RunBackwardWeightsOp run) {
                     return addRun(run, run.getWeights(), run.getMicroBatch());
                   })
                   .Case([&](SendOp send) { return addSend(send); })
                   .Case([&](LossGradientOp loss) {
                     return addLossGradient(loss);
                   })
                   .Case([&](AccumulateLossOp add) -> LogicalResult {
                     if (add.getLoss().getDefiningOp<RunForwardOp>())
                       return success();
                     return add.emitOpError("expected the output of a forward "
                                            "run");
                   })
                   .Case<LoadOp, ReceiveOp, RunUpdateOp>(
                       [](Operation *) { return success(); })
                   .Default([](Operation *op) {
                     return op->emitOpError("is not a task of a schedule");
                   })))
      return failure();
  return success();
}

LogicalResult ScheduleReader::read() {
  schedule.name = "mf.schedule";
  schedule.pipeline = chunks.pipeline;
  schedule.splitsBackward = chunks.splitsBackward();
  schedule.stages.resize(chunks.pipeline.stages);
  runs.resize(chunks.pipeline.stages);
  for (auto [number, chunk] : llvm::enumerate(chunks.chunks)) {
    auto add = [&, number = number](FunctionOpInterface function, Phase phase) {
      functions[function.getName()] = {phase, static_cast<int64_t>(number)};
    };
    add(chunk.forward, Phase::Forward);
    add(chunk.backward, chunk.weights ? Phase::InputGradient : Phase::Backward);
    if (chunk.weights)
      add(chunk.weights, Phase::WeightGradient);
  }
  for (auto op : model.getBody().getOps<ScheduleOp>())
    if (failed(addSchedule(op)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// What runs read
//===----------------------------------------------------------------------===//

void ScheduleReader::addTransfer(ReceiveOp receive, SendOp send,
                                 const Task &producer, const Task &reader) {
  auto ahead = static_cast<int64_t>(receive.getAhead());
  auto behind = static_cast<int64_t>(send.getBehind());
  // Of several messages between two runs the strictest counts.
  if (!transfers.empty() && transfers.back().reader == reader &&
      transfers.back().producer == producer) {
    transfers.back().ahead = std::min(transfers.back().ahead, ahead);
    transfers.back().behind = std::min(transfers.back().behind, behind);
    return;
  }
  transfers.push_back({producer, reader, ahead, behind});
}

/// `run` is to read result `number` of task `maker`, from its stage or by a
/// message.
LogicalResult ScheduleReader::checkMessage(Operation *run, Value value,
                                           const Task &maker, int64_t number) {
  Value source = value;
  auto receive = value.getDefiningOp<ReceiveOp>();
  SendOp send;
  if (receive) {
    MessageKey key(receive.getStage(),
                   receive->getParentOfType<ScheduleOp>().getStage(),
                   receive.getChannel(), receive.getMicroBatch());
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
                               << getName(tasks[run]) << " and expected result "
                               << number << " of " << getName(maker)
                               << ", but reads ";
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

LogicalResult ScheduleReader::checkForward(RunForwardOp run) {
  const Task task = tasks[run];
  ChunkFunctions &chunk = chunks.chunks[task.chunk];
  for (auto [kind, index] :
       llvm::zip(chunk.forward.getInputs().getAsRange<InputKindAttr>(),
                 chunk.forward.getInputIndices().getAsRange<IntegerAttr>())) {
    auto load = run.getInputs()[index.getInt()].getDefiningOp<LoadOp>();
    if (!load || load.getInput() != kind.getValue() ||
        static_cast<int64_t>(load.getMicroBatch()) != task.microBatch)
      return run.emitOpError("expected to load the ")
             << stringifyInputKind(kind.getValue()) << " of micro-batch "
             << task.microBatch << " as argument " << index.getInt();
  }
  for (auto [number, index] : llvm::enumerate(chunk.getHiddenArguments()))
    if (failed(checkMessage(run, run.getInputs()[index],
                            {Phase::Forward, task.chunk - 1, task.microBatch},
                            number)))
      return failure();
  return checkLosses(run);
}

/// The step's loss has each loss once.
LogicalResult ScheduleReader::checkLosses(RunForwardOp run) {
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

LogicalResult ScheduleReader::addLossGradient(LossGradientOp loss) {
  if (!firstLossGradient)
    firstLossGradient = loss;
  if (loss.getValueAttr() == firstLossGradient.getValueAttr() &&
      loss.getScaled() == firstLossGradient.getScaled() &&
      loss.getType() == firstLossGradient.getType())
    return success();
  InFlightDiagnostic error =
      loss.emitOpError("expected the same gradient for all losses of a step");
  error.attachNote(firstLossGradient.getLoc()) << "another one is here";
  return error;
}

LogicalResult ScheduleReader::checkFrame(Operation *run, Value frame) {
  const Task task = tasks[run];
  const Task maker{Phase::Forward, task.chunk, task.microBatch};
  if (tasks.lookup(frame.getDefiningOp()) == maker)
    return success();
  return run->emitOpError("is ") << getName(task) << " and expected the frame "
                                 << "of " << getName(maker);
}

LogicalResult ScheduleReader::checkOutputGradients(RunBackwardOp run,
                                                   ValueRange gradients) {
  const Task task = tasks[run];
  for (auto [output, gradient] : llvm::enumerate(gradients)) {
    if (!isLoss(gradient.getType())) {
      if (failed(checkMessage(run, gradient,
                              {task.phase, task.chunk + 1, task.microBatch},
                              static_cast<int64_t>(output))))
        return failure();
    } else if (!gradient.getDefiningOp<LossGradientOp>()) {
      return run.emitOpError("expected the gradient of a loss for output ")
             << output;
    }
  }
  return success();
}

LogicalResult ScheduleReader::checkForwardArguments(Operation *run, Value frame,
                                                    ValueRange arguments,
                                                    ArrayAttr indices) {
  auto forward = frame.getDefiningOp<RunForwardOp>();
  for (auto [argument, index] :
       llvm::zip_equal(arguments, indices.getAsRange<IntegerAttr>()))
    if (argument != forward.getInputs()[index.getInt()])
      return run->emitOpError("expected input ")
             << index.getInt() << " of " << getName(tasks[forward])
             << ", which its function reads again";
  return success();
}

LogicalResult ScheduleReader::checkBackward(RunBackwardOp run) {
  BackwardOp function = chunks.chunks[tasks[run].chunk].backward;
  int64_t numOutputs = function.getOutputs();
  return success(
      succeeded(checkFrame(run, run.getFrame())) &&
      succeeded(checkOutputGradients(
          run, run.getArguments().take_front(numOutputs))) &&
      succeeded(checkForwardArguments(run, run.getFrame(),
                                      run.getArguments().drop_front(numOutputs),
                                      function.getForwardArguments())));
}

LogicalResult ScheduleReader::checkWeights(RunBackwardWeightsOp run) {
  if (failed(checkFrame(run, run.getFrame())))
    return failure();
  BackwardWeightsOp function = chunks.chunks[tasks[run].chunk].weights;
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

LogicalResult ScheduleReader::checkRun(Operation *run) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(run)
      .Case([&](RunForwardOp op) { return checkForward(op); })
      .Case([&](RunBackwardOp op) { return checkBackward(op); })
      .Case([&](RunBackwardWeightsOp op) { return checkWeights(op); });
}

//===----------------------------------------------------------------------===//
// All stages
//===----------------------------------------------------------------------===//

/// Reports what the library says, and points at the runs that it names.
LogicalResult ScheduleReader::report(llvm::Error error) {
  std::string message = llvm::toString(std::move(error));
  InFlightDiagnostic diagnostic =
      model.emitOpError("has schedules that cannot run: ") << message;
  llvm::Regex place("of stage ([0-9]+) \\(task ([0-9]+)\\)");
  SmallVector<StringRef> match;
  for (StringRef rest = message; place.match(rest, &match);
       rest = rest.substr(match[0].end() - rest.begin())) {
    size_t stage = 0, position = 0;
    if (match[1].getAsInteger(10, stage) || match[2].getAsInteger(10, position))
      break;
    diagnostic.attachNote(runs[stage][position]->getLoc())
        << "task " << position << " of stage " << stage << " is here";
  }
  return diagnostic;
}

LogicalResult ScheduleReader::checkRuns() {
  if (llvm::Error error = schedule.verify())
    return report(std::move(error));
  for (const auto &[run, task] : tasks)
    if (failed(checkRun(run)))
      return failure();
  return success();
}

LogicalResult ScheduleReader::verify() {
  // A model may have nothing but updates.
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

} // namespace

LogicalResult mf::passes::verifySchedules(ModelOp model, ModelChunks &chunks) {
  ScheduleReader reader(model, chunks);
  return success(succeeded(reader.read()) && succeeded(reader.verify()));
}
