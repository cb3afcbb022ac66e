//===- StepBuilder.cpp - Schedules to steps -------------------------------===//

#include "passes/lower/StepBuilder.h"
#include "passes/lower/LowerFunctions.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mf;
using namespace mf::passes;
using ascend::Role;
using ascend::StreamKind;

StepBuilder::StepBuilder(ProgramBuilder &program, ir::ScheduleOp schedule)
    : program(program), schedule(schedule), builder(program.getContext()),
      loc(schedule.getLoc()) {}

//===----------------------------------------------------------------------===//
// Tasks to calls
//===----------------------------------------------------------------------===//

bool StepBuilder::addsLoss(ir::RunForwardOp run) {
  return llvm::any_of(run.getOutput().getUsers(), [](Operation *user) {
    return isa<ir::AccumulateLossOp>(user);
  });
}

Value StepBuilder::createMessage(Type tensor) {
  return ascend::MessageOp::create(builder, loc, program.getBufferType(tensor),
                                   IntegerAttr());
}

Value StepBuilder::getGlobal(ascend::StaticOp buffer) {
  Value &global = globals[buffer.getSymName()];
  if (!global)
    global = ascend::GlobalOp::create(builder, loc, buffer.getType(),
                                      buffer.getSymName());
  return global;
}

void StepBuilder::collectForward(ir::RunForwardOp run) {
  Call &call = calls.emplace_back(Call{run.getForward().str(), run.getLoc()});
  call.microBatch = run.getMicroBatchAttr();
  auto layout = FlatSymbolRefAttr::get(program.getContext(),
                                       getLayoutName(run.getForward()));
  call.frame = ascend::FrameOp::create(
      builder, run.getLoc(),
      ascend::FrameType::get(program.getContext(), layout), layout,
      run.getMicroBatchAttr(), IntegerAttr(), IntegerAttr());
  values[run.getFrame()] = call.frame;
  for (Value input : run.getInputs()) {
    values[input] = createMessage(input.getType());
    call.buffers.push_back(values[input]);
    call.incoming.push_back(input.getDefiningOp());
  }
  if (addsLoss(run)) {
    hasLoss = true;
    return;
  }
  values[run.getOutput()] = createMessage(run.getOutput().getType());
  call.buffers.push_back(values[run.getOutput()]);
}

void StepBuilder::collectBackward(ir::RunBackwardOp run) {
  Call &call = calls.emplace_back(Call{run.getBackward().str(), run.getLoc()});
  call.microBatch = run.getMicroBatchAttr();
  call.frame = values.lookup(run.getFrame());
  Value gradient = run.getOutputGradient();
  auto loss = gradient.getDefiningOp<ir::LossGradientOp>();
  if (loss && loss.getScaled()) {
    scaledGradient = loss.getValueAttr();
    values[gradient] = getGlobal(getScaledGradient(program));
  } else if (loss) {
    auto init = ir::InitAttr::get(program.getContext(), ir::InitKind::Constant,
                                  loss.getValue().convertToDouble());
    values[gradient] = getGlobal(program.getStatic(
        "loss_gradient", program.getBufferType(gradient.getType()),
        Role::Constant, {}, init));
  } else {
    values[gradient] = createMessage(gradient.getType());
    call.incoming.push_back(gradient.getDefiningOp());
  }
  call.buffers.push_back(values[gradient]);
  for (Value input : run.getInputs())
    call.buffers.push_back(values.lookup(input));
  if (Value inputGradient = run.getInputGradient()) {
    values[inputGradient] = createMessage(inputGradient.getType());
    call.buffers.push_back(values[inputGradient]);
  }
}

void StepBuilder::collectUpdate(ir::RunUpdateOp run) {
  ascend::BufferType type = program.getScalarType();
  auto update = cast<ir::UpdateOp>(SymbolTable::lookupSymbolIn(
      program.getModel(), run.getUpdateAttr().getAttr()));
  if (isa<ir::ReduceGradientOp>(update.getBody().front().front()))
    calls.emplace_back(Call{names::reduce.str(), run.getLoc()});
  Call &call = calls.emplace_back(Call{names::update.str(), run.getLoc()});
  call.isUpdate = true;
  call.buffers = {
      getGlobal(program.getStatic("learning_rate", type, Role::LearningRate)),
      getGlobal(program.getStatic("step_number", type, Role::StepNumber))};
  if (update.getNumArguments() > call.buffers.size())
    call.buffers.push_back(getGlobal(getLossScale(program)));
}

LogicalResult StepBuilder::collectTask(Operation *task) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(task)
      .Case([&](ir::RunForwardOp run) -> LogicalResult {
        if (llvm::any_of(run.getInputs(), [](Value input) {
              return !input.getDefiningOp<ir::LoadOp>() &&
                     !input.getDefiningOp<ir::ReceiveOp>();
            }))
          return run.emitOpError("expected inputs that are loaded or received");
        collectForward(run);
        return success();
      })
      .Case([&](ir::RunBackwardOp run) -> LogicalResult {
        Value gradient = run.getOutputGradient();
        if (!gradient.getDefiningOp<ir::LossGradientOp>() &&
            !gradient.getDefiningOp<ir::ReceiveOp>())
          return run.emitOpError("expected a gradient that is received or that "
                                 "of the loss");
        if (llvm::any_of(run.getInputs(),
                         [&](Value input) { return !values.contains(input); }))
          return run.emitOpError("expected inputs that a forward run has read");
        collectBackward(run);
        return success();
      })
      .Case([&](ir::RunUpdateOp run) {
        collectUpdate(run);
        return success();
      })
      .Case([&](ir::SendOp send) -> LogicalResult {
        if (calls.empty())
          return send.emitOpError("expected a run before it");
        if (!values.contains(send.getValue()))
          return send.emitOpError("expected a value that a run returns");
        calls.back().outgoing.push_back(send);
        return success();
      })
      .Case<ir::LoadOp, ir::ReceiveOp, ir::LossGradientOp,
            ir::AccumulateLossOp>([](Operation *) { return success(); })
      .Default([](Operation *op) {
        return op->emitOpError("is not a task of a schedule");
      });
}

LogicalResult StepBuilder::collect() {
  for (Operation &task : schedule.getBody().front())
    if (failed(collectTask(&task)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Calls to a step
//===----------------------------------------------------------------------===//

Value StepBuilder::record(StringRef stream) {
  return ascend::RecordOp::create(builder, loc, stream);
}

void StepBuilder::wait(StringRef stream, Value event) {
  ascend::WaitOp::create(builder, loc, stream, event);
}

/// The part of a step's tokens or labels that a rank has: its rows, cut over
/// dp, of each micro-batch, and of these its part of the sequence, cut over the
/// axes of context parallel training. Null if it has all.
static ascend::SliceAttr getInputSlice(ir::ModelOp model, int64_t microBatches,
                                       RankedTensorType part) {
  int64_t rows = model.getMicroBatchSize(), length = model.getSequenceLength();
  if (part.getRank() != 2 || part.getNumElements() == rows * length)
    return {};
  Builder builder(model.getContext());
  SmallVector<Attribute> sequenceAxes;
  auto mesh = ir::MeshAttr::find(model);
  for (auto [axis, size] : ir::MeshSizes(mesh).axes)
    if (axis.starts_with("cp") && size > 1)
      sequenceAxes.push_back(builder.getStringAttr(axis));
  SmallVector<ArrayAttr> axes(3, builder.getArrayAttr({}));
  if (part.getDimSize(0) != rows)
    axes[1] = builder.getStrArrayAttr({"dp"});
  if (part.getDimSize(1) != length)
    axes[2] = builder.getArrayAttr(sequenceAxes);
  return ascend::SliceAttr::get(
      model.getContext(), ArrayRef<int64_t>{microBatches, rows, length}, axes);
}

/// The host buffer of a step input with one entry per micro-batch, and the
/// part of one micro-batch.
Value StepBuilder::emitLoad(ir::LoadOp load, ValueRange after) {
  StringRef stream =
      program.getStream(names::hostToDevice, StreamKind::HostToDevice);
  auto tensor = cast<RankedTensorType>(load.getType());
  SmallVector<int64_t> shape = {program.getMicroBatches()};
  llvm::append_range(shape, tensor.getShape());
  Role role =
      load.getInput() == ir::InputKind::Tokens ? Role::Tokens : Role::Labels;
  Value host = getGlobal(program.getStatic(
      ("host." + ascend::stringifyRole(role)).str(),
      program.getBufferType(
          RankedTensorType::get(shape, tensor.getElementType()),
          ascend::Space::Host),
      role, {}, {}, {},
      getInputSlice(program.getModel(), program.getMicroBatches(), tensor)));
  auto type = program.getBufferType(tensor, ascend::Space::Host);
  Value part = ascend::ViewOp::create(builder, loc, type, host,
                                      load.getMicroBatch() * type.getBytes());
  return ascend::CopyOp::create(
             builder, loc, ascend::EventType::get(program.getContext()), part,
             values.lookup(load.getResult()), stream, after)
      .getDone();
}

/// The rank of another stage with this one's other coordinates.
ascend::PeerAttr StepBuilder::getPeer(int64_t stage) {
  return ascend::PeerAttr::get(program.getContext(),
                               builder.getStringAttr("pp"), stage,
                               /*relative=*/false);
}

void StepBuilder::emitIncoming(Operation *task, Value after) {
  loc = task->getLoc();
  ValueRange events = after ? ValueRange(after) : ValueRange();
  Value &arrival = arrivals[task->getResult(0)];
  if (auto load = dyn_cast<ir::LoadOp>(task)) {
    arrival = emitLoad(load, events);
    return;
  }
  auto receive = cast<ir::ReceiveOp>(task);
  StringRef stream = program.getStream(
      ("receive." + receive.getChannel()).str(), StreamKind::Communication);
  arrival = ascend::ReceiveOp::create(
                builder, loc, ascend::EventType::get(program.getContext()),
                values.lookup(receive.getResult()), getPeer(receive.getStage()),
                receive.getChannel(), stream, events)
                .getDone();
}

Value StepBuilder::emitOutgoing(ir::SendOp send, Value after) {
  loc = send.getLoc();
  StringRef stream = program.getStream(("send." + send.getChannel()).str(),
                                       StreamKind::Communication);
  return ascend::SendOp::create(
             builder, loc, after.getType(), values.lookup(send.getValue()),
             getPeer(send.getStage()), send.getChannel(), stream, after)
      .getDone();
}

/// Copies a scalar that changes with every step to the device.
Value StepBuilder::emitInputCopy(Value buffer, Role role) {
  StringRef stream =
      program.getStream(names::hostToDevice, StreamKind::HostToDevice);
  auto type = cast<ascend::BufferType>(buffer.getType());
  Value host = getGlobal(program.getStatic(
      ("host." + ascend::stringifyRole(role)).str(),
      program.getBufferType(type.getTensor(), ascend::Space::Host), role));
  return ascend::CopyOp::create(builder, loc,
                                ascend::EventType::get(program.getContext()),
                                host, buffer, stream, ValueRange())
      .getDone();
}

void StepBuilder::emitReports() {
  if (program.getReports().empty())
    return;
  StringRef stream =
      program.getStream(names::deviceToHost, StreamKind::DeviceToHost);
  wait(stream, record(names::compute));
  for (const std::string &quantity : program.getReports()) {
    ascend::StaticOp device = program.getReport(quantity);
    auto type = cast<ascend::BufferType>(device.getType());
    ascend::StaticOp host = program.getStatic(
        "host.report." + quantity,
        program.getBufferType(type.getTensor(), ascend::Space::Host),
        Role::Report, quantity);
    ascend::CopyOp::create(builder, loc, Type(), getGlobal(device),
                           getGlobal(host), stream, ValueRange());
  }
}

ascend::CallOp StepBuilder::emitCall(size_t index, ValueRange after) {
  Call &call = calls[index];
  SmallVector<Value> arguments;
  llvm::append_range(arguments, call.buffers);
  llvm::append_range(arguments, call.events);
  SmallVector<int64_t> kernels = getEarlyKernels(index);
  SmallVector<Type> events(kernels.size(),
                           ascend::EventType::get(program.getContext()));
  return ascend::CallOp::create(
      builder, loc, events,
      FlatSymbolRefAttr::get(program.getContext(), call.routine), arguments,
      call.frame, call.microBatch, IntegerAttr(),
      kernels.empty() ? DenseI64ArrayAttr()
                      : builder.getDenseI64ArrayAttr(kernels),
      after);
}

void StepBuilder::emit() {
  // Events recorded behind a call, for what waits for it.
  std::vector<Value> done(calls.size());
  // Sends that must be over before a call.
  std::vector<SmallVector<Value>> before(calls.size() + 2);
  auto emitIncomingOf = [&](size_t index, Value after) {
    if (index >= calls.size())
      return;
    for (Operation *task : calls[index].incoming)
      emitIncoming(task, after);
    loc = calls[index].loc;
    if (!calls[index].isUpdate)
      return;
    // One stream: the second copy is over last.
    emitInputCopy(calls[index].buffers[0], Role::LearningRate);
    before[index].push_back(
        emitInputCopy(calls[index].buffers[1], Role::StepNumber));
  };

  // What the first call computes from, and the update again.
  if (Value scale = globals.lookup("loss_scale")) {
    before[0].push_back(emitInputCopy(scale, Role::LossScale));
  }
  emitIncomingOf(0, Value());
  for (size_t index = 0; index < calls.size(); ++index) {
    Call &call = calls[index];
    emitIncomingOf(index + 1, index > 0 ? done[index - 1] : Value());
    loc = call.loc;
    for (Operation *task : call.incoming)
      before[index].push_back(arrivals.lookup(task->getResult(0)));
    emitEarlyCopiesBefore(index);
    ascend::CallOp op = emitCall(index, before[index]);
    emitEarlyCopiesIn(index, op.getEvents());
    loc = call.loc;
    bool isAwaited =
        index + 2 < calls.size() && !calls[index + 2].incoming.empty();
    if (isAwaited || !call.outgoing.empty())
      done[index] = record(names::compute);
    for (Operation *task : call.outgoing) {
      before[index + 2].push_back(
          emitOutgoing(cast<ir::SendOp>(task), done[index]));
    }
  }
  emitReports();
}

LogicalResult StepBuilder::build() {
  builder.setInsertionPointToEnd(&program.getProgram().getBody().front());
  auto step = ascend::StepOp::create(builder, loc);
  builder.createBlock(&step.getBody());
  if (failed(collect()))
    return failure();
  if (scaledGradient)
    getGlobal(getLossScale(program));
  if (buildBegin(program, hasLoss, scaledGradient))
    calls.insert(calls.begin(), Call{names::begin.str(), loc});
  if (hasLoss) {
    buildFinish(program);
    calls.push_back(Call{names::finish.str(), loc});
  }
  placeEarlyCopies();
  emit();
  // Routines made last stand behind the step; they read better before it.
  step->moveBefore(&program.getProgram().getBody().front(),
                   program.getProgram().getBody().front().end());
  return success();
}
