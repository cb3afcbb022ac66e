//===- StepTransfers.cpp - Loads and messages of a step's calls -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/lower/StepTransfers.h"

using namespace mlir;
using namespace mf;
using namespace mf::passes;
using ascend::Role;
using ascend::StreamKind;

LogicalResult StepTransfers::place(ArrayRef<StepCall> calls) {
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

void StepTransfers::renumber(ArrayRef<size_t> firsts, size_t numCalls) {
  std::vector<SmallVector<Operation *, 2>> issued(numCalls);
  for (auto [first, tasks] : llvm::zip_equal(firsts, issuedBefore))
    llvm::append_range(issued[first], tasks);
  issuedBefore = std::move(issued);
  for (auto &[send, call] : sentBefore)
    call = firsts[call];
}

//===----------------------------------------------------------------------===//
// Operations
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

void StepTransfers::emitBefore(size_t call, Value after, StepBlock &step,
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

Value mf::passes::emitSend(StepBlock &step, ir::SendOp send, Value buffer,
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

Value mf::passes::emitInputCopy(StepBlock &step, Value buffer, Role role) {
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

void mf::passes::emitReports(StepBlock &step) {
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
