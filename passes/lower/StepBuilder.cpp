//===- StepBuilder.cpp - Schedules to steps -------------------------------===//

#include "passes/lower/StepBuilder.h"
#include "dialects/mf/CertificateAttribute.h"
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

Value StepBuilder::record(StringRef stream) {
  return ascend::RecordOp::create(builder, loc, stream);
}

void StepBuilder::wait(StringRef stream, Value event) {
  ascend::WaitOp::create(builder, loc, stream, event);
}

/// Returns the slice of a step's tokens or labels that a rank reads: its rows
/// of each micro-batch, cut over dp, and its part of the sequence, cut over cp
/// and, if the head reads parts of the residual stream, over mp. Null if it
/// reads all.
static ascend::SliceAttr getInputSlice(ir::ModelOp model, int64_t microBatches,
                                       RankedTensorType part) {
  int64_t rows = model.getMicroBatchSize(), length = model.getSequenceLength();
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
Value StepBuilder::emitLoad(ir::LoadOp load, ValueRange after) {
  StringRef stream =
      program.getStream(names::hostToDevice, StreamKind::HostToDevice);
  auto tensor = cast<RankedTensorType>(load.getType());
  SmallVector<int64_t> shape = {program.getMicroBatches()};
  llvm::append_range(shape, tensor.getShape());
  Role role = getRole(load.getInput());
  Value host = getGlobal(program.getStatic(
      getHostName(role),
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

/// Returns the rank on another stage that has this one's other coordinates.
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
      getHostName(role),
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
  for (ascend::StaticOp device : program.getReports()) {
    StringRef quantity = *device.getOf();
    auto type = cast<ascend::BufferType>(device.getType());
    ascend::StaticOp host = program.getStatic(
        getHostReportName(quantity),
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
  SmallVector<int64_t> kernels = getRecords(index);
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

LogicalResult StepBuilder::placeTransfers() {
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

void StepBuilder::emit() {
  // For each call, the event that is recorded after it.
  std::vector<Value> done(calls.size());
  // For each call, the events that must be over before it.
  std::vector<SmallVector<Value>> before(calls.size());
  // The first call reads the scale, and the update reads it again.
  if (Value scale = globals.lookup("loss_scale"))
    before[0].push_back(emitInputCopy(scale, Role::LossScale));
  auto emitInputsOf = [&](size_t index) {
    if (index >= calls.size() || !calls[index].isUpdate)
      return;
    loc = calls[index].loc;
    // Both copies are on one stream, so the second one ends last.
    emitInputCopy(calls[index].buffers[0], Role::LearningRate);
    before[index].push_back(
        emitInputCopy(calls[index].buffers[1], Role::StepNumber));
  };

  emitInputsOf(0);
  for (size_t index = 0; index < calls.size(); ++index) {
    Call &call = calls[index];
    for (Operation *task : issuedBefore[index])
      emitIncoming(task, index > 0 ? done[index - 1] : Value());
    emitInputsOf(index + 1);
    loc = call.loc;
    for (Operation *task : call.incoming)
      before[index].push_back(arrivals.lookup(task->getResult(0)));
    emitEarlyCopiesBefore(index);
    if (call.isUpdate)
      for (auto [stream, done] : reduced)
        before[index].push_back(done);
    ascend::CallOp op = emitCall(index, before[index]);
    emitEarlyCopiesIn(index, op.getEvents());
    emitReductionsIn(index, op.getEvents());
    loc = call.loc;
    bool isAwaited =
        index + 1 < calls.size() && !issuedBefore[index + 1].empty();
    if (isAwaited || !call.outgoing.empty())
      done[index] = record(names::compute);
    for (Operation *task : call.outgoing) {
      Value sent = emitOutgoing(cast<ir::SendOp>(task), done[index]);
      if (auto reader = sentBefore.find(task); reader != sentBefore.end())
        before[reader->second].push_back(sent);
    }
    for (StringRef stream : call.streams)
      before[*call.next].push_back(record(stream));
  }
  emitReports();
}

DictionaryAttr StepBuilder::getCertificate() {
  for (auto update : program.getModel().getBody().getOps<ir::UpdateOp>())
    if (static_cast<int64_t>(update.getStage()) == program.getStage())
      return update->getAttrOfType<DictionaryAttr>(ir::certificateAttribute);
  return {};
}

LogicalResult StepBuilder::build() {
  builder.setInsertionPointToEnd(&program.getProgram().getBody().front());
  auto step = ascend::StepOp::create(builder, loc, getCertificate());
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
  if (failed(placeTransfers()))
    return failure();
  cutCalls();
  placeEarlyCopies();
  placeReductions();
  emit();
  // Routines that were made last follow the step. They are easier to read
  // before it.
  step->moveBefore(&program.getProgram().getBody().front(),
                   program.getProgram().getBody().front().end());
  return success();
}
