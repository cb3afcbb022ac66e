//===- ListDecoder.cpp - Decodes a block to an instruction list -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "ListDecoder.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace mf::program {

FailureOr<InstructionList> ListDecoder::decode(Region &body) {
  if (body.empty())
    return std::move(list);
  Block &block = body.front();
  reserve(block);
  if (failed(decodeArguments(block)))
    return failure();
  for (Operation &op : block)
    if (failed(decodeOperation(&op)))
      return failure();
  nameTemporaries();
  return std::move(list);
}

void ListDecoder::reserve(Block &block) {
  size_t numBuffers = block.getNumArguments(), numInstructions = 0;
  for (Operation &op : block) {
    numBuffers += isa<ascend::AllocOp, ascend::GlobalOp, ascend::SlotOp,
                      ascend::MessageOp>(op);
    numInstructions += isa<ascend::CallOp, ascend::InstructionOpInterface>(op);
  }
  list.buffers.reserve(numBuffers);
  list.instructions.reserve(numInstructions);
}

LogicalResult ListDecoder::decodeOperation(Operation *op) {
  location = state.addLocation(op);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<ascend::AllocOp, ascend::GlobalOp, ascend::SlotOp, ascend::ViewOp,
            ascend::CallOp, ascend::MessageOp, ascend::FrameOp,
            ascend::InstructionOpInterface>(
          [&](auto typed) { return decode(typed); })
      .Default([](Operation *other) {
        return other->emitError("cannot be executed here");
      });
}

LogicalResult ListDecoder::decodeArguments(Block &block) {
  uint32_t numEventArguments = 0;
  for (BlockArgument argument : block.getArguments()) {
    Operation *op = block.getParentOp();
    if (isa<ascend::EventType>(argument.getType())) {
      events[argument] = numEventArguments++;
      continue;
    }
    FailureOr<BufferShape> type = decodeType(op, argument.getType());
    if (failed(type))
      return failure();
    Buffer buffer;
    buffer.kind = BufferKind::Argument;
    buffer.index = argument.getArgNumber();
    buffer.shape = type->shape;
    buffer.bytes = type->bytes;
    buffer.space = type->space;
    buffer.address = {Base::Argument, buffer.index, 0};
    buffer.name = "argument " + std::to_string(buffer.index);
    location = state.addLocation(op);
    defineBuffer(argument, std::move(buffer));
  }
  return success();
}

void ListDecoder::defineBuffer(Value value, Buffer buffer) {
  auto [entry, isNew] = buffers.try_emplace(
      {static_cast<uint32_t>(buffer.kind), buffer.index, buffer.frame},
      list.buffers.size());
  operands[value] = {entry->second, 0, buffer.bytes};
  if (!isNew)
    return;
  buffer.location = location;
  list.buffers.push_back(std::move(buffer));
}

FailureOr<Operand> ListDecoder::getOperand(Operation *op, Value value) {
  auto found = operands.find(value);
  if (found == operands.end())
    return op->emitError("uses a buffer that is not defined before it");
  return found->second;
}

FailureOr<Operand> ListDecoder::getDeviceOperand(Operation *op, Value value) {
  FailureOr<Operand> operand = getOperand(op, value);
  if (succeeded(operand) &&
      list.buffers[operand->buffer].space != Space::Device)
    return op->emitError("expected a buffer in device memory, but got ")
           << value.getType() << "; copy it with ascend.copy";
  return operand;
}

FailureOr<uint32_t> ListDecoder::getStream(Operation *op,
                                           FlatSymbolRefAttr stream) {
  if (!stream)
    return context.stage.computeStream;
  auto found = context.streams.find(stream.getValue());
  if (found == context.streams.end())
    return op->emitError("unknown stream ") << stream;
  return found->second;
}

FailureOr<uint32_t> ListDecoder::getEvent(Operation *op, Value event) {
  auto found = events.find(event);
  if (found == events.end())
    return op->emitError("waits for an event that is not recorded before it");
  return found->second;
}

// A temporary has no name in the IR. It gets the name of the operator that
// first writes it, and a copy of a slot gets the name of that slot.
void ListDecoder::nameTemporaries() {
  for (const Instruction &instruction : list.instructions)
    for (const MemoryAccess &access : instruction.accesses) {
      if (!writesMemory(access.access))
        continue;
      Buffer &buffer = list.buffers[access.operand.buffer];
      const Buffer &first =
          list.buffers[instruction.accesses.front().operand.buffer];
      if (instruction.work == Work::Copy && first.kind == BufferKind::Slot)
        buffer.name = "prefetched " + first.name;
      if (buffer.kind == BufferKind::Temporary && buffer.name.empty() &&
          !instruction.cell.empty())
        buffer.name = "result of '" + instruction.cell + "'";
    }
  for (Buffer &buffer : list.buffers)
    if (buffer.name.empty())
      buffer.name = "temporary " + std::to_string(buffer.index);
}

} // namespace mf::program
