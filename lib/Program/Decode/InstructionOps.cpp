//===- InstructionOps.cpp - Decoding of what the host issues --------------===//

#include "ListDecoder.h"

using namespace mlir;

namespace mf::program {

LogicalResult ListDecoder::decode(ascend::LaunchOp op) {
  Launch launch;
  FailureOr<std::vector<Operand>> inputs =
      getOperands(op, op.getInputs(), /*onDevice=*/true);
  FailureOr<std::vector<Operand>> outputs =
      getOperands(op, op.getOutputs(), /*onDevice=*/true);
  if (failed(inputs) || failed(outputs))
    return failure();
  FailureOr<uint32_t> kernel = state.getKernel(op, location, *inputs, *outputs);
  if (failed(kernel))
    return failure();
  launch.kernel = *kernel;
  launch.inputs = std::move(*inputs);
  launch.outputs = std::move(*outputs);
  launch.cell = op.getCell().value_or("").str();
  launch.flops = op.getFlops();
  addInstruction(std::move(launch));
  return success();
}

LogicalResult ListDecoder::decodeArguments(ascend::CallOp op,
                                           const Routine &callee, Call &call) {
  llvm::SmallVector<Value> buffers;
  for (Value argument : op.getArguments()) {
    if (!isa<ascend::EventType>(argument.getType())) {
      buffers.push_back(argument);
      continue;
    }
    FailureOr<uint32_t> event = getEvent(op, argument);
    if (failed(event))
      return failure();
    call.events.push_back(*event);
  }
  if (buffers.size() != callee.numArguments ||
      call.events.size() != callee.numEventArguments)
    return op.emitError("expected ")
           << callee.numArguments << " buffers and " << callee.numEventArguments
           << " events, but got " << buffers.size() << " and "
           << call.events.size();
  FailureOr<std::vector<Operand>> operands =
      getOperands(op, buffers, /*onDevice=*/false);
  if (failed(operands))
    return failure();
  call.arguments = std::move(*operands);
  return success();
}

/// `records` counts launches; instructions are what the tables count.
LogicalResult ListDecoder::decodeRecords(ascend::CallOp op,
                                         const Routine &callee, Call &call) {
  ArrayRef<int64_t> records = op.getRecords().value_or(ArrayRef<int64_t>());
  int64_t numLaunches = 0;
  uint32_t number = 0;
  for (const Instruction &instruction : callee.body.instructions) {
    numLaunches += std::holds_alternative<Launch>(instruction.action);
    if (call.records.size() < records.size() &&
        records[call.records.size()] == numLaunches) {
      events[op.getEvents()[call.records.size()]] = list.numEvents;
      call.records.push_back(
          {number, {context.rank.computeStream, list.numEvents++}});
    }
    ++number;
  }
  if (call.records.size() < records.size())
    return op.emitError("records an event behind launch ")
           << records[call.records.size()] << ", but the routine has "
           << numLaunches;
  return success();
}

LogicalResult ListDecoder::decode(ascend::CallOp op) {
  auto found = context.routines.find(op.getRoutine());
  if (found == context.routines.end())
    return op.emitError("unknown routine ") << op.getRoutineAttr();
  const Routine &callee = context.rank.routines[found->second];
  Call call;
  call.routine = found->second;
  if (failed(decodeArguments(op, callee, call)) ||
      failed(decodeRecords(op, callee, call)))
    return failure();
  if (op.getFrame()) {
    auto frame = frames.find(op.getFrame());
    if (frame == frames.end() || !callee.layout ||
        context.rank.frames[frame->second].layout != *callee.layout)
      return op.emitError("its frame is not one of the routine's layout");
    call.frame = frame->second;
  } else if (callee.layout) {
    return op.emitError("expected a frame of '")
           << context.rank.layouts[*callee.layout].name << "'";
  }
  if (callee.scratchBytes > 0 || op.getScratchOffset())
    if (failed(checkOffset(op, op.getScratchOffset(), callee.scratchBytes,
                           addressAlignment, context.rank.arenaBytes,
                           "the arena")))
      return failure();
  if (failed(addWaits(op, context.rank.computeStream, op.getAfter())))
    return failure();
  call.scratchOffset = op.getScratchOffset();
  call.microBatch = op.getMicroBatch();
  addInstruction(std::move(call));
  return success();
}

LogicalResult ListDecoder::decode(ascend::RecordOp op) {
  FailureOr<uint32_t> stream = getStream(op, op.getStreamAttr());
  if (failed(stream))
    return failure();
  events[op.getEvent()] = list.numEvents;
  addInstruction(Record{*stream, list.numEvents++});
  return success();
}

LogicalResult ListDecoder::decode(ascend::WaitOp op) {
  FailureOr<uint32_t> stream = getStream(op, op.getStreamAttr());
  if (failed(stream))
    return failure();
  return addWaits(op, *stream, op.getEvent());
}

LogicalResult ListDecoder::addWaits(Operation *op, uint32_t stream,
                                    ValueRange after) {
  for (Value value : after) {
    FailureOr<uint32_t> event = getEvent(op, value);
    if (failed(event))
      return failure();
    addInstruction(Wait{stream, *event, isa<BlockArgument>(value)});
  }
  return success();
}

LogicalResult ListDecoder::addTransfer(Operation *op, uint32_t stream,
                                       ValueRange after, Value done,
                                       decltype(Instruction::action) action) {
  if (failed(addWaits(op, stream, after)))
    return failure();
  addInstruction(std::move(action));
  if (done) {
    events[done] = list.numEvents;
    addInstruction(Record{stream, list.numEvents++});
  }
  return success();
}

LogicalResult ListDecoder::decode(ascend::CopyOp op) {
  FailureOr<uint32_t> stream = getStream(op, op.getStreamAttr());
  FailureOr<Operand> source = getOperand(op, op.getSource());
  FailureOr<Operand> target = getOperand(op, op.getTarget());
  if (failed(stream) || failed(source) || failed(target))
    return failure();
  if (source->bytes != target->bytes)
    return op.emitError("expected buffers of one size, but got ")
           << source->bytes << " and " << target->bytes << " bytes";
  if (list.buffers[source->buffer].space == Space::Host &&
      list.buffers[target->buffer].space == Space::Host)
    return op.emitError("expected device memory on one side at least");
  return addTransfer(op, *stream, op.getAfter(), op.getDone(),
                     Copy{*stream, std::move(*source), std::move(*target)});
}

LogicalResult ListDecoder::decodeTransfer(Operation *op, Value buffer,
                                          FlatSymbolRefAttr streamName,
                                          llvm::StringRef channel, int64_t peer,
                                          bool isSend, ValueRange after,
                                          Value done) {
  FailureOr<uint32_t> stream = getStream(op, streamName);
  FailureOr<Operand> operand = getDeviceOperand(op, buffer);
  if (failed(stream) || failed(operand))
    return failure();
  if (peer < 0 || peer >= context.numRanks || peer == context.number)
    return op->emitError("expected another rank of ")
           << context.numRanks << " as peer of rank " << context.number
           << ", but got " << peer;
  const int64_t sender = isSend ? context.number : peer;
  const int64_t receiver = isSend ? peer : context.number;
  Transfer transfer;
  transfer.stream = *stream;
  transfer.channel =
      state.getChannel(channel, /*isAllReduce=*/false, {sender, receiver});
  transfer.buffer = std::move(*operand);
  transfer.isSend = isSend;
  return addTransfer(op, *stream, after, done, std::move(transfer));
}

LogicalResult ListDecoder::decode(ascend::SendOp op) {
  return decodeTransfer(op, op.getBuffer(), op.getStreamAttr(), op.getChannel(),
                        op.getPeer(), /*isSend=*/true, op.getAfter(),
                        op.getDone());
}

LogicalResult ListDecoder::decode(ascend::ReceiveOp op) {
  return decodeTransfer(op, op.getBuffer(), op.getStreamAttr(), op.getChannel(),
                        op.getPeer(), /*isSend=*/false, op.getAfter(),
                        op.getDone());
}

LogicalResult ListDecoder::decode(ascend::AllReduceOp op) {
  FailureOr<uint32_t> stream = getStream(op, op.getStreamAttr());
  FailureOr<Operand> operand = getDeviceOperand(op, op.getBuffer());
  if (failed(stream) || failed(operand))
    return failure();
  std::vector<int64_t> ranks;
  for (Attribute rank : op.getRanks()) {
    const int64_t number = cast<IntegerAttr>(rank).getInt();
    if (number < 0 || number >= context.numRanks ||
        llvm::is_contained(ranks, number))
      return op.emitError("expected different ranks of ")
             << context.numRanks << ", but got " << op.getRanks();
    ranks.push_back(number);
  }
  if (!llvm::is_contained(ranks, context.number))
    return op.emitError("does not include rank ") << context.number;
  AllReduce reduce;
  reduce.stream = *stream;
  reduce.channel =
      state.getChannel(op.getChannel(), /*isAllReduce=*/true, ranks);
  reduce.buffer = std::move(*operand);
  addInstruction(std::move(reduce));
  return success();
}

} // namespace mf::program
