//===- StepBuilder.cpp - Schedules to steps -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/DiscardableAttributes.h"
#include "passes/lower/CopyPlacement.h"
#include "passes/lower/LowerFunctions.h"
#include "passes/lower/ProgramBuilder.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mf;
using namespace mf::passes;
using ascend::Role;
using ascend::StreamKind;

//===----------------------------------------------------------------------===//
// The calls of a step
//===----------------------------------------------------------------------===//

namespace {

/// Appends operations to the `ascend.step` of a stage, at the location that was
/// set last.
class StepBlock : public mlir::ImplicitLocOpBuilder {
public:
  /// Keeps a reference to `program`.
  StepBlock(ProgramBuilder &program, mlir::Location loc)
      : ImplicitLocOpBuilder(loc, program.getContext()), program(program) {}

  ProgramBuilder &getProgram() { return program; }
  ascend::EventType getEventType() {
    return ascend::EventType::get(getContext());
  }

  /// Returns the step's value for a static buffer, and creates it at the first
  /// call.
  mlir::Value getGlobal(ascend::StaticOp buffer) {
    mlir::Value &global = globals[buffer.getSymName()];
    if (!global)
      global = ascend::GlobalOp::create(*this, buffer.getType(),
                                        buffer.getSymName());
    return global;
  }
  /// Returns the value that getGlobal has created for the buffer of this name;
  /// null if there is none.
  mlir::Value findGlobal(llvm::StringRef name) const {
    return globals.lookup(name);
  }

  mlir::Value createMessage(mlir::Type buffer) {
    return ascend::MessageOp::create(*this, buffer, mlir::IntegerAttr());
  }
  mlir::Value record(llvm::StringRef stream) {
    return ascend::RecordOp::create(*this, stream);
  }
  void wait(llvm::StringRef stream, mlir::Value event) {
    ascend::WaitOp::create(*this, stream, event);
  }

private:
  ProgramBuilder &program;
  llvm::StringMap<mlir::Value> globals;
};

/// One call of a routine and its exchanges.
struct StepCall {
  std::string routine;
  mlir::Location loc;
  /// The loads and receives of values that it reads, and the sends of values
  /// that it writes.
  llvm::SmallVector<mlir::Operation *, 2> incoming = {}, outgoing = {};
  llvm::SmallVector<mlir::Value, 4> buffers = {};
  mlir::Value frame = {};
  mlir::IntegerAttr microBatch = {};
  /// True if it reads the values that change with every step.
  bool isUpdate = false;
  /// Events of copies that must end before the routine reads their buffers.
  llvm::SmallVector<mlir::Value> events = {};
  /// True if it shares a slot with the next call.
  bool isPaired = false;
  /// The call of the next part of a routine in parts. It waits for `streams`,
  /// on which exchanges of this part are still under way at its end.
  std::optional<size_t> next = {};
  llvm::SmallVector<llvm::StringRef, 2> streams = {};
};

struct StepCalls {
  std::vector<StepCall> calls;
  /// True if a call adds to the step's loss.
  bool hasLoss = false;
  /// The factor on the loss scale for backward. Null if this stage has no
  /// scaled loss.
  mlir::FloatAttr scaledGradient;
  /// The buffers of the schedule's tensors, and the frames of its frames.
  llvm::DenseMap<mlir::Value, mlir::Value> values;
};

/// The events that a call records after some of its launches.
struct LaunchEvents {
  /// The numbers of launches after which the events are recorded, in ascending
  /// order without duplicates.
  llvm::SmallVector<int64_t> launches;
  mlir::ValueRange events;

  /// Returns the event after `count` launches, which must be among `launches`.
  mlir::Value getAfter(int64_t count) const {
    return events[llvm::lower_bound(launches, count) - launches.begin()];
  }
};

class CallCollector {
public:
  explicit CallCollector(StepBlock &step)
      : step(step), program(step.getProgram()) {}

  LogicalResult collect(ir::ScheduleOp schedule) {
    for (Operation &task : schedule.getBody().front())
      if (failed(collectTask(&task)))
        return failure();
    return success();
  }

  StepCalls take() { return std::move(made); }

private:
  StepCall &addCall(StringRef routine, Location loc) {
    return made.calls.emplace_back(StepCall{routine.str(), loc});
  }

  LogicalResult collectTask(Operation *task) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(task)
        .Case([&](ir::RunForwardOp run) {
          collectForward(run);
          return success();
        })
        .Case([&](ir::RunRecomputeOp run) {
          collectBackward(run.getRecompute(), run, run.getMicroBatchAttr(),
                          run.getFrame(), run.getArguments());
          return success();
        })
        .Case([&](ir::RunBackwardOp run) {
          collectBackward(run.getBackward(), run, run.getMicroBatchAttr(),
                          run.getFrame(), run.getArguments());
          made.calls.back().isPaired = run.getPaired();
          return success();
        })
        .Case([&](ir::RunBackwardWeightsOp run) {
          collectBackward(run.getWeights(), run, run.getMicroBatchAttr(),
                          run.getFrame(), run.getArguments());
          return success();
        })
        .Case([&](ir::RunUpdateOp run) {
          collectUpdate(run);
          return success();
        })
        .Case([&](ir::SendOp send) {
          made.calls.back().outgoing.push_back(send);
          return success();
        })
        .Case([&](ir::LossGradientOp loss) {
          addLossGradient(loss);
          return success();
        })
        .Case<ir::LoadOp, ir::ReceiveOp, ir::AccumulateLossOp>(
            [](Operation *) { return success(); })
        .Default([](Operation *op) {
          return op->emitOpError("is not a task of a schedule");
        });
  }

  void collectForward(ir::RunForwardOp run) {
    StepCall &call = addCall(run.getForward(), run.getLoc());
    call.microBatch = run.getMicroBatchAttr();
    call.isPaired = run.getPaired();
    auto layout = FlatSymbolRefAttr::get(program.getContext(),
                                         getLayoutName(run.getForward()));
    call.frame = ascend::FrameOp::create(
        step, run.getLoc(),
        ascend::FrameType::get(program.getContext(), layout), layout,
        run.getMicroBatchAttr(), DenseI64ArrayAttr(), IntegerAttr());
    made.values[run.getFrame()] = call.frame;
    for (Value input : run.getInputs())
      addInput(call, input);
    for (Value output : run.getOutputs())
      if (ir::isLoss(output.getType()))
        made.hasLoss = true;
      else
        addMessages(call, output);
  }

  /// Collects a backward, one of its halves, or the recompute task for it.
  void collectBackward(StringRef routine, Operation *run,
                       IntegerAttr microBatch, Value frame,
                       ValueRange arguments) {
    StepCall &call = addCall(routine, run->getLoc());
    call.microBatch = microBatch;
    call.frame = made.values.lookup(frame);
    for (Value argument : arguments)
      addInput(call, argument);
    addMessages(call, run->getResults());
  }

  void collectUpdate(ir::RunUpdateOp run) {
    ascend::BufferType type = program.getScalarType();
    auto update = cast<ir::UpdateOp>(SymbolTable::lookupSymbolIn(
        program.getModel(), run.getUpdateAttr().getAttr()));
    if (program.hasRoutine(names::reduce))
      addCall(names::reduce, run.getLoc());
    StepCall &call = addCall(names::update, run.getLoc());
    call.isUpdate = true;
    // The rates are a scalar, or have an element for each group of parameters.
    auto rates = cast<RankedTensorType>(update.getArgument(0).getType());
    call.buffers = {
        step.getGlobal(program.getStatic(
            "learning_rate", program.getBufferType(rates), Role::LearningRate)),
        step.getGlobal(
            program.getStatic("step_number", type, Role::StepNumber))};
    if (update.getNumArguments() > call.buffers.size())
      call.buffers.push_back(step.getGlobal(getLossScale(program)));
  }

  void addLossGradient(ir::LossGradientOp loss) {
    if (loss.getScaled()) {
      made.scaledGradient = loss.getValueAttr();
      made.values[loss.getResult()] =
          step.getGlobal(getScaledGradient(program));
      return;
    }
    auto init = ir::InitAttr::get(program.getContext(), ir::InitKind::Constant,
                                  loss.getValue().convertToDouble());
    made.values[loss.getResult()] = step.getGlobal(program.getStatic(
        "loss_gradient", program.getBufferType(loss.getType()), Role::Constant,
        {}, init));
  }

  /// Passes a buffer that a call reads: that of the call which made `input`, or
  /// a message for a received value.
  void addInput(StepCall &call, Value input) {
    Value &buffer = made.values[input];
    if (!buffer) {
      buffer = createMessage(input);
      call.incoming.push_back(input.getDefiningOp());
    }
    call.buffers.push_back(buffer);
  }

  /// Passes new messages that a call writes.
  void addMessages(StepCall &call, ValueRange tensors) {
    for (Value tensor : tensors) {
      made.values[tensor] = createMessage(tensor);
      call.buffers.push_back(made.values[tensor]);
    }
  }

  Value createMessage(Value tensor) {
    return step.createMessage(program.getBufferType(tensor.getType()));
  }

  StepBlock &step;
  ProgramBuilder &program;
  StepCalls made;
};

} // namespace

/// Returns a call for each task of a schedule that runs a routine, in order.
/// Appends the frames, messages and statics that the calls use to the step.
static FailureOr<StepCalls> collectCalls(StepBlock &step,
                                         ir::ScheduleOp schedule) {
  CallCollector collector(step);
  if (failed(collector.collect(schedule)))
    return failure();
  return collector.take();
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// Returns the calls of the parts of a call's routine. Their `next` counts from
/// the first of them.
static std::vector<StepCall> cutCall(StepBlock &step, const StepCall &call) {
  const RoutineParts *parts = step.getProgram().getParts(call.routine);
  if (!parts)
    return {call};
  step.setLoc(call.loc);
  const auto passed =
      llvm::map_to_vector(parts->passed, [&](Type type) -> Value {
        return step.createMessage(type);
      });
  std::vector<StepCall> made;
  for (const RoutinePart &part : parts->parts) {
    StepCall &ofPart = made.emplace_back(call);
    ofPart.routine = part.name;
    for (int64_t number : part.passed)
      ofPart.buffers.push_back(passed[number]);
    ofPart.streams = part.streams;
    if (made.size() > 1)
      ofPart.incoming.clear();
    if (made.size() < parts->parts.size()) {
      ofPart.outgoing.clear();
      ofPart.next = made.size();
    }
  }
  return made;
}

/// Replaces calls of routines in parts by those of the parts. A forward and a
/// backward that share a slot run part by part. The exchanges at the end of a
/// part of one of them continue during the next part of the other.
/// Returns the index of the first part of each call.
static std::vector<size_t> cutCalls(StepBlock &step,
                                    std::vector<StepCall> &calls) {
  std::vector<StepCall> cut;
  // For each original call, the index of the first call that replaces it.
  std::vector<size_t> firsts(calls.size());
  // Appends the next part of a call. The indices of the parts that follow are
  // only known when these are appended.
  struct Turn {
    size_t call;
    std::vector<StepCall> parts;
    size_t taken = 0;
    size_t last = 0;
  };
  auto takeTurn = [&](Turn &turn) {
    if (turn.taken == turn.parts.size())
      return false;
    if (turn.taken == 0)
      firsts[turn.call] = cut.size();
    else
      cut[turn.last].next = cut.size();
    turn.last = cut.size();
    cut.push_back(std::move(turn.parts[turn.taken++]));
    return true;
  };
  for (size_t index = 0; index < calls.size();) {
    Turn first{index, cutCall(step, calls[index])};
    std::vector<Turn> others;
    for (; calls[index].isPaired; ++index)
      others.push_back({index + 1, cutCall(step, calls[index + 1])});
    ++index;
    // The halves of a backward follow one another.
    while (takeTurn(first))
      for (Turn &other : others)
        if (takeTurn(other))
          break;
    for (Turn &other : others)
      while (takeTurn(other)) {
      }
  }
  calls = std::move(cut);
  return firsts;
}

//===----------------------------------------------------------------------===//
// A transfer of a value into a call (load, receive) is issued on a separate
// stream `ahead` calls earlier, after an event of the call before that one, so
// its buffer is not needed earlier. A value that a call sends must have left
// before the call that is `behind` calls later, where its buffer becomes free.
// With 1 and 2, a transfer overlaps one whole call on either side, at the cost
// of one more message in memory. A value that a call passes to a later call of
// the stage stays in one message.
//===----------------------------------------------------------------------===//

/// Returns the slice of a step's tokens or labels that a rank reads: its rows
/// of each micro-batch, cut over dp, and its part of the sequence, cut over cp
/// and, if the head reads parts of the residual stream, over mp. Null if it
/// reads all.
static ascend::SliceAttr getInputSlice(ir::ModelOp model, int64_t microBatches,
                                       RankedTensorType part) {
  int64_t rows = static_cast<int64_t>(model.getMicroBatchSize()),
          length = static_cast<int64_t>(model.getSequenceLength());
  if (part.getRank() != 2 || part.getNumElements() == rows * length)
    return {};
  Builder builder(model.getContext());
  auto mesh = ir::MeshAttr::find(model);
  SmallVector<ArrayAttr> axes(3, builder.getArrayAttr({}));
  // Adds axes of these names, or the factors of each, until there are `parts`.
  auto cut = [&](int64_t dim, int64_t parts, ArrayRef<StringRef> names) {
    SmallVector<Attribute> factors;
    int64_t product = 1;
    for (StringRef name : names)
      for (auto [axis, size] : ir::MeshSizes(mesh).axes)
        if (axis.starts_with(name) && size > 1 && product < parts) {
          factors.push_back(builder.getStringAttr(axis));
          product *= size;
        }
    axes[dim] = builder.getArrayAttr(factors);
  };
  cut(1, rows / part.getDimSize(0), {"dp"});
  cut(2, length / part.getDimSize(1), {"cp", "mp"});
  return ascend::SliceAttr::get(
      model.getContext(), ArrayRef<int64_t>{microBatches, rows, length}, axes);
}

/// Returns the role of the host buffer of a micro-batch's input.
static Role getRole(ir::InputKind kind) {
  switch (kind) {
  case ir::InputKind::Tokens:
    return Role::Tokens;
  case ir::InputKind::Draw:
    return Role::Draw;
  default:
    return Role::Labels;
  }
}

/// The host buffer of a step input has one entry per micro-batch. The load
/// copies that of one micro-batch.
static Value emitLoad(StepBlock &step, ir::LoadOp load, Value buffer,
                      ValueRange after) {
  ProgramBuilder &program = step.getProgram();
  StringRef stream =
      program.getStream(names::hostToDevice, StreamKind::HostToDevice);
  auto tensor = cast<RankedTensorType>(load.getType());
  SmallVector<int64_t> shape = {program.getMicroBatches()};
  llvm::append_range(shape, tensor.getShape());
  Role role = getRole(load.getInput());
  Value host = step.getGlobal(program.getStatic(
      getHostName(role),
      program.getBufferType(
          RankedTensorType::get(shape, tensor.getElementType()),
          ascend::Space::Host),
      role, {}, {}, {},
      getInputSlice(program.getModel(), program.getMicroBatches(), tensor)));
  auto type = program.getBufferType(tensor, ascend::Space::Host);
  Value part = ascend::ViewOp::create(step, type, host,
                                      load.getMicroBatch() * type.getBytes());
  return ascend::CopyOp::create(step, step.getEventType(), part, buffer, stream,
                                after)
      .getDone();
}

/// Returns the rank on another stage that has this one's other coordinates.
static ascend::PeerAttr getPeer(StepBlock &step, int64_t stage) {
  return ascend::PeerAttr::get(step.getContext(), step.getStringAttr("pp"),
                               stage,
                               /*relative=*/false);
}

static Value emitReceive(StepBlock &step, ir::ReceiveOp receive, Value buffer,
                         ValueRange after) {
  StringRef stream = step.getProgram().getStream(
      ("receive." + receive.getChannel()).str(), StreamKind::Communication);
  return ascend::ReceiveOp::create(
             step, step.getEventType(), buffer,
             getPeer(step, static_cast<int64_t>(receive.getStage())),
             receive.getChannel(), stream, after)
      .getDone();
}

namespace {

class StepTransfers {
public:
  /// Determines when the transfers of calls are issued. Fails if messages of a
  /// channel would arrive in another order than they are read.
  mlir::LogicalResult place(ArrayRef<StepCall> calls) {
    issuedBefore.resize(calls.size());
    // The messages of a channel arrive in the order of their receives.
    llvm::StringMap<std::pair<int64_t, Operation *>> last;
    for (auto [reader, call] : llvm::enumerate(calls)) {
      for (Operation *task : call.incoming) {
        auto receive = dyn_cast<ir::ReceiveOp>(task);
        auto ahead = static_cast<int64_t>(
            receive ? receive.getAhead() : cast<ir::LoadOp>(task).getAhead());
        int64_t place =
            std::max<int64_t>(static_cast<int64_t>(reader) - ahead, 0);
        issuedBefore[place].push_back(task);
        if (!receive)
          continue;
        auto &[lastPlace, lastReceive] = last[receive.getChannel()];
        if (lastReceive && place < lastPlace) {
          InFlightDiagnostic error = receive.emitOpError(
              "is issued before another one of its channel, whose message is "
              "read first; expected a smaller 'ahead'");
          error.attachNote(lastReceive->getLoc()) << "the other is here";
          return error;
        }
        lastPlace = place;
        lastReceive = receive;
      }
      for (Operation *task : call.outgoing) {
        const auto behind =
            static_cast<size_t>(cast<ir::SendOp>(task).getBehind());
        if (behind < calls.size() - reader)
          sentBefore[task] = reader + behind;
      }
    }
    return success();
  }

  /// Adapts the places to calls in parts: `firsts` has the first part of each
  /// call, and there are `numCalls` parts.
  void renumber(ArrayRef<size_t> firsts, size_t numCalls) {
    std::vector<SmallVector<Operation *, 2>> issued(numCalls);
    for (auto [first, tasks] : llvm::zip_equal(firsts, issuedBefore))
      llvm::append_range(issued[first], tasks);
    issuedBefore = std::move(issued);
    for (auto &[send, call] : sentBefore)
      call = firsts[call];
  }

  /// Returns whether a transfer is issued right before a call.
  bool areBefore(size_t call) const { return !issuedBefore[call].empty(); }

  /// Issues the transfers before a call. They start after event `after` unless
  /// it is null. `values` has the buffers of the schedule's tensors.
  void emitBefore(size_t call, Value after, StepBlock &step,
                  const DenseMap<Value, Value> &values) {
    const ValueRange events = after ? ValueRange(after) : ValueRange();
    for (Operation *task : issuedBefore[call]) {
      step.setLoc(task->getLoc());
      const Value buffer = values.lookup(task->getResult(0));
      auto load = dyn_cast<ir::LoadOp>(task);
      arrivals[task] =
          load ? emitLoad(step, load, buffer, events)
               : emitReceive(step, cast<ir::ReceiveOp>(task), buffer, events);
    }
  }

  /// Returns the event that is recorded when the value of a load or receive has
  /// arrived.
  mlir::Value getArrival(mlir::Operation *task) const {
    return arrivals.lookup(task);
  }
  /// Returns the call before which the message has left; none if that is the
  /// end of the step.
  std::optional<size_t> getCallAfter(mlir::Operation *send) const {
    auto found = sentBefore.find(send);
    return found == sentBefore.end() ? std::nullopt
                                     : std::optional(found->second);
  }

private:
  /// For each call, the loads and receives that are issued right before it.
  std::vector<llvm::SmallVector<mlir::Operation *, 2>> issuedBefore;
  /// For each send, the call before which the message has left.
  llvm::MapVector<mlir::Operation *, size_t> sentBefore;
  llvm::DenseMap<mlir::Operation *, mlir::Value> arrivals;
};

} // namespace

/// Sends the value in `buffer` after event `after`. Returns the event of the
/// end of the transfer.
static Value emitSend(StepBlock &step, ir::SendOp send, Value buffer,
                      Value after) {
  step.setLoc(send.getLoc());
  StringRef stream = step.getProgram().getStream(
      ("send." + send.getChannel()).str(), StreamKind::Communication);
  return ascend::SendOp::create(
             step, step.getEventType(), buffer,
             getPeer(step, static_cast<int64_t>(send.getStage())),
             send.getChannel(), stream, after)
      .getDone();
}

/// Copies a scalar that changes with every step to the device. Returns the
/// event of the end of the copy.
static Value emitInputCopy(StepBlock &step, Value buffer, Role role) {
  ProgramBuilder &program = step.getProgram();
  StringRef stream =
      program.getStream(names::hostToDevice, StreamKind::HostToDevice);
  auto type = cast<ascend::BufferType>(buffer.getType());
  Value host = step.getGlobal(program.getStatic(
      getHostName(role),
      program.getBufferType(type.getTensor(), ascend::Space::Host), role));
  return ascend::CopyOp::create(step, step.getEventType(), host, buffer, stream,
                                ValueRange())
      .getDone();
}

/// Copies the quantities that the host reads after the step to host memory.
static void emitReports(StepBlock &step) {
  ProgramBuilder &program = step.getProgram();
  if (program.getReports().empty())
    return;
  StringRef stream =
      program.getStream(names::deviceToHost, StreamKind::DeviceToHost);
  step.wait(stream, step.record(names::compute));
  for (ascend::StaticOp device : program.getReports()) {
    StringRef quantity = *device.getOf();
    auto type = cast<ascend::BufferType>(device.getType());
    ascend::StaticOp host = program.getStatic(
        getHostReportName(quantity),
        program.getBufferType(type.getTensor(), ascend::Space::Host),
        Role::Report, quantity);
    ascend::CopyOp::create(step, Type(), step.getGlobal(device),
                           step.getGlobal(host), stream, ValueRange());
  }
}

//===----------------------------------------------------------------------===//
// A sum over ranks that needs only collectives is issued by the step, after the
// launch of the last backward that completes the gradient. The update waits for
// it.
//===----------------------------------------------------------------------===//

namespace {

class StepReductions {
public:
  /// Determines after which launches of which calls the sums start.
  void place(ProgramBuilder &program, ArrayRef<StepCall> calls) {
    reductions.resize(calls.size());
    for (auto update : program.getModel().getBody().getOps<ir::UpdateOp>()) {
      if (static_cast<int64_t>(update.getStage()) != program.getStage())
        continue;
      for (auto op : update.getBody().getOps<ir::ReduceGradientOp>())
        if (findPlainReduction(program, op))
          placeOne(program, calls, op);
    }
  }

  /// Returns the numbers of launches of a call after which sums start,
  /// ascending.
  llvm::SmallVector<int64_t> getLaunches(size_t call) const {
    return llvm::map_to_vector(
        reductions[call],
        [](const StepReduction &reduction) { return reduction.launches; });
  }

  /// Issues the sums that start while a call runs, which records `events`.
  void emitBeside(StepBlock &step, size_t call, const LaunchEvents &events) {
    for (const StepReduction &reduction : reductions[call])
      emitOne(step, reduction.op, events.getAfter(reduction.launches));
  }

  /// Returns, for each stream, the event of its last sum so far.
  const llvm::MapVector<llvm::StringRef, mlir::Value> &getEnds() const {
    return ends;
  }

private:
  /// A sum over ranks that starts after some launches of a call.
  struct StepReduction {
    int64_t launches;
    ir::ReduceGradientOp op;
  };

  /// The reduction follows the last call that adds to the gradient, and within
  /// it the last launch that does.
  void placeOne(const ProgramBuilder &program, ArrayRef<StepCall> calls,
                ir::ReduceGradientOp op) {
    ArrayRef<GradientPlace> places = program.getGradientPlaces(op.getParam());
    for (size_t index = calls.size(); index-- > 0;) {
      std::optional<int64_t> launches;
      for (const GradientPlace &place : places)
        if (place.routine == calls[index].routine)
          launches = std::max(launches.value_or(0), place.launches);
      if (!launches)
        continue;
      // Reductions after the same launch stay in the order of the update.
      std::vector<StepReduction> &list = reductions[index];
      auto next = llvm::find_if(list, [&](const StepReduction &other) {
        return other.launches > *launches;
      });
      list.insert(next, {*launches, op});
      return;
    }
  }

  void emitOne(StepBlock &step, ir::ReduceGradientOp reduction, Value ready) {
    ProgramBuilder &program = step.getProgram();
    step.setLoc(reduction.getLoc());
    MLIRContext *context = step.getContext();
    auto sums = findPlainReduction(program, reduction);
    for (const StateCollective &sum : *sums) {
      const ir::EmittedCollective &collective = sum.collective;
      StringRef stream = program.getStream(
          (names::collective + "." + collective.channel).str(),
          ascend::StreamKind::Communication);
      auto axes = llvm::map_to_vector(collective.axes, [&](StringRef axis) {
        return StringAttr::get(context, axis);
      });
      Value input =
          step.getGlobal(program.getState(sum.input, reduction.getParam()));
      Value output =
          step.getGlobal(program.getState(sum.output, reduction.getParam()));
      auto op = ascend::CollectiveOp::create(
          step, step.getEventType(), ascend::getDialectKind(collective.kind),
          input, output,
          /*send=*/Value(), /*receive=*/Value(),
          ascend::GroupAttr::get(context, axes, collective.stages),
          ascend::getDialectReduction(collective.reduction),
          /*fill=*/FloatAttr(), collective.channel, StringAttr(), stream,
          ready);
      ready = op.getDone();
      // A stream works in order, so its last work ends last.
      ends[stream] = ready;
    }
  }

  /// For each call, its reductions in the order of launches.
  std::vector<std::vector<StepReduction>> reductions;
  llvm::MapVector<llvm::StringRef, mlir::Value> ends;
};

} // namespace

//===----------------------------------------------------------------------===//
// A copy that starts before the call that reads it belongs to the step. It
// waits for an event that an earlier call records, or that is recorded right
// before one.
//===----------------------------------------------------------------------===//

namespace {

/// The copy of a swapped value for call `reader`, which starts before kernel
/// `kernel` of another call. It records `events[event]` of its reader.
struct EarlyCopy {
  int64_t kernel;
  size_t reader, event;
  mlir::Value buffer;
  int64_t slot;
};

} // namespace

/// Emits a copy that starts after event `started`.
static void emitCopy(StepBlock &step, MutableArrayRef<StepCall> calls,
                     const EarlyCopy &copy, Value started) {
  ProgramBuilder &program = step.getProgram();
  StepCall &reader = calls[copy.reader];
  step.setLoc(reader.loc);
  StringRef stream =
      program.getStream(names::hostToDevice, ascend::StreamKind::HostToDevice);
  auto type = cast<ascend::BufferType>(copy.buffer.getType());
  Value host = ascend::SlotOp::create(
      step, program.getBufferType(type.getTensor(), ascend::Space::Host),
      copy.slot, reader.frame);
  reader.events[copy.event] =
      ascend::CopyOp::create(step, started.getType(), host, copy.buffer, stream,
                             started)
          .getDone();
}

namespace {

class EarlyCopies {
public:
  /// Determines when copies start. Adds to the calls the buffers of the copied
  /// values, and null events that stand for the ends of the copies.
  void place(StepBlock &step, MutableArrayRef<StepCall> calls) {
    ProgramBuilder &program = step.getProgram();
    copies.resize(calls.size());
    std::vector<int64_t> lengths;
    // The first call with a frame computes the values that the others read.
    DenseMap<Value, int64_t> makers;
    for (auto [index, call] : llvm::enumerate(calls)) {
      lengths.push_back(program.countLaunches(call.routine));
      if (call.frame)
        makers.try_emplace(call.frame, index);
    }
    for (size_t reader = 0; reader < calls.size(); ++reader) {
      StepCall &call = calls[reader];
      step.setLoc(call.loc);
      for (const EarlyPrefetch &prefetch :
           program.getEarlyPrefetches(call.routine)) {
        SchedulePlace place =
            walkBack(lengths, static_cast<int64_t>(reader), prefetch.ahead,
                     makers.lookup(call.frame));
        Value buffer = step.createMessage(prefetch.type);
        copies[place.task].push_back(
            {place.kernel, reader, call.events.size(), buffer, prefetch.slot});
        call.buffers.push_back(buffer);
        call.events.emplace_back();
      }
    }
    for (std::vector<EarlyCopy> &list : copies)
      llvm::sort(list, [](const EarlyCopy &a, const EarlyCopy &b) {
        return std::tuple(a.kernel, a.reader, a.event) <
               std::tuple(b.kernel, b.reader, b.event);
      });
  }

  /// Returns the kernels of a call before which copies start, ascending,
  /// without the first one.
  llvm::SmallVector<int64_t> getKernels(size_t call) const {
    SmallVector<int64_t> kernels;
    for (const EarlyCopy &copy : copies[call])
      if (copy.kernel > 0 && (kernels.empty() || kernels.back() != copy.kernel))
        kernels.push_back(copy.kernel);
    return kernels;
  }

  /// Issues the copies that start before a call.
  void emitBefore(StepBlock &step, MutableArrayRef<StepCall> calls,
                  size_t call) const {
    Value started;
    for (const EarlyCopy &copy : copies[call]) {
      if (copy.kernel > 0)
        break;
      if (!started)
        started = step.record(names::compute);
      emitCopy(step, calls, copy, started);
    }
  }

  /// Issues the copies that start while a call runs, which records `events`.
  void emitBeside(StepBlock &step, MutableArrayRef<StepCall> calls, size_t call,
                  const LaunchEvents &events) const {
    for (const EarlyCopy &copy : copies[call])
      if (copy.kernel > 0)
        emitCopy(step, calls, copy, events.getAfter(copy.kernel));
  }

private:
  /// For each call, the copies that start before or while it runs, by kernel.
  std::vector<std::vector<EarlyCopy>> copies;
};

/// Emits the calls of a step in order, and with each call the work of other
/// streams that runs concurrently.
class StepBuilder {
public:
  StepBuilder(StepBlock &step, StepCalls made)
      : step(step), values(std::move(made.values)),
        calls(std::move(made.calls)) {}

  /// Determines when transfers, copies and sums are issued.
  LogicalResult place() {
    if (failed(transfers.place(calls)))
      return failure();
    const std::vector<size_t> firsts = cutCalls(step, calls);
    transfers.renumber(firsts, calls.size());
    copies.place(step, calls);
    reductions.place(step.getProgram(), calls);
    before.resize(calls.size());
    return success();
  }

  void emit() {
    // The first call reads the scale, and the update reads it again.
    if (Value scale = step.findGlobal("loss_scale"))
      before[0].push_back(emitInputCopy(step, scale, Role::LossScale));
    emitInputsOf(0);
    for (size_t index = 0; index < calls.size(); ++index) {
      const StepCall &call = calls[index];
      transfers.emitBefore(index, done, step, values);
      emitInputsOf(index + 1);
      step.setLoc(call.loc);
      for (Operation *task : call.incoming)
        before[index].push_back(transfers.getArrival(task));
      copies.emitBefore(step, calls, index);
      if (call.isUpdate)
        for (auto [stream, end] : reductions.getEnds())
          before[index].push_back(end);
      const LaunchEvents events = emitCall(index);
      copies.emitBeside(step, calls, index, events);
      reductions.emitBeside(step, index, events);
      emitOutgoing(index);
    }
    emitReports(step);
  }

private:
  /// Copies the values to the device that the update reads and that change with
  /// every step.
  void emitInputsOf(size_t index) {
    if (index >= calls.size() || !calls[index].isUpdate)
      return;
    step.setLoc(calls[index].loc);
    // Both copies are on one stream, so the second one ends last.
    emitInputCopy(step, calls[index].buffers[0], Role::LearningRate);
    before[index].push_back(
        emitInputCopy(step, calls[index].buffers[1], Role::StepNumber));
  }

  LaunchEvents emitCall(size_t index) {
    StepCall &call = calls[index];
    LaunchEvents recorded{copies.getKernels(index), {}};
    llvm::append_range(recorded.launches, reductions.getLaunches(index));
    llvm::sort(recorded.launches);
    recorded.launches.erase(llvm::unique(recorded.launches),
                            recorded.launches.end());
    SmallVector<Value> arguments;
    llvm::append_range(arguments, call.buffers);
    llvm::append_range(arguments, call.events);
    const SmallVector<Type> events(recorded.launches.size(),
                                   step.getEventType());
    auto op = ascend::CallOp::create(
        step, events, FlatSymbolRefAttr::get(step.getContext(), call.routine),
        arguments, call.frame, call.microBatch, IntegerAttr(),
        events.empty() ? DenseI64ArrayAttr()
                       : step.getDenseI64ArrayAttr(recorded.launches),
        before[index]);
    recorded.events = op.getEvents();
    return recorded;
  }

  /// Records the end of a call if a transfer waits for it, and sends what the
  /// call has written.
  void emitOutgoing(size_t index) {
    const StepCall &call = calls[index];
    step.setLoc(call.loc);
    const bool isAwaited =
        index + 1 < calls.size() && transfers.areBefore(index + 1);
    done = isAwaited || !call.outgoing.empty() ? step.record(names::compute)
                                               : Value();
    for (Operation *task : call.outgoing) {
      auto send = cast<ir::SendOp>(task);
      const Value sent =
          emitSend(step, send, values.lookup(send.getValue()), done);
      if (std::optional<size_t> next = transfers.getCallAfter(send))
        before[*next].push_back(sent);
    }
    for (StringRef stream : call.streams)
      before[*call.next].push_back(step.record(stream));
  }

  StepBlock &step;
  /// The buffers of the schedule's tensors.
  DenseMap<Value, Value> values;
  std::vector<StepCall> calls;
  StepTransfers transfers;
  EarlyCopies copies;
  StepReductions reductions;
  /// For each call, the events that must be over before it.
  std::vector<SmallVector<Value>> before;
  /// The event that was recorded after the last call; null if none was.
  Value done;
};

} // namespace

/// Returns the certificate of the stage's update; null if it has none.
static DictionaryAttr getUpdateCertificate(ProgramBuilder &program) {
  for (auto update : program.getModel().getBody().getOps<ir::UpdateOp>())
    if (static_cast<int64_t>(update.getStage()) == program.getStage())
      return update->getAttrOfType<DictionaryAttr>(ir::certificateAttribute);
  return {};
}

LogicalResult mf::passes::buildStep(ProgramBuilder &program,
                                    ir::ScheduleOp schedule) {
  StepBlock step(program, schedule.getLoc());
  Block &body = program.getProgram().getBody().front();
  step.setInsertionPointToEnd(&body);
  auto op = ascend::StepOp::create(step, getUpdateCertificate(program));
  step.createBlock(&op.getBody());
  FailureOr<StepCalls> made = collectCalls(step, schedule);
  if (failed(made))
    return failure();
  if (made->scaledGradient)
    step.getGlobal(getLossScale(program));
  std::vector<StepCall> &calls = made->calls;
  if (buildBegin(program, made->hasLoss, made->scaledGradient))
    calls.insert(calls.begin(), StepCall{names::begin.str(), step.getLoc()});
  if (made->hasLoss) {
    buildFinish(program);
    calls.push_back(StepCall{names::finish.str(), step.getLoc()});
  }
  StepBuilder builder(step, std::move(*made));
  if (failed(builder.place()))
    return failure();
  builder.emit();
  // Routines that were made last follow the step. They are easier to read
  // before it.
  op->moveBefore(&body, body.end());
  return success();
}
