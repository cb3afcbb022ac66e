//===- ListDecoder.cpp - One block to an instruction list -----------------===//

#include "ListDecoder.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace mf::program {

FailureOr<InstructionList> ListDecoder::decode(Region &body) {
  if (body.empty())
    return std::move(list);
  Block &block = body.front();
  if (failed(decodeArguments(block)))
    return failure();
  for (Operation &op : block)
    if (failed(decodeOperation(&op)))
      return failure();
  nameTemporaries();
  return std::move(list);
}

LogicalResult ListDecoder::decodeOperation(Operation *op) {
  location = state.addLocation(op);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<ascend::LaunchOp, ascend::AllocOp, ascend::GlobalOp, ascend::SlotOp,
            ascend::ViewOp, ascend::CallOp, ascend::MessageOp, ascend::FrameOp,
            ascend::RecordOp, ascend::WaitOp, ascend::CopyOp, ascend::SendOp,
            ascend::ReceiveOp, ascend::AllReduceOp>(
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
      {buffer.kind, buffer.index, buffer.frame}, list.buffers.size());
  operands[value] = {entry->second, 0, buffer.bytes, buffer.shape};
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

FailureOr<std::vector<Operand>>
ListDecoder::getOperands(Operation *op, ValueRange values, bool onDevice) {
  std::vector<Operand> result;
  result.reserve(values.size());
  for (Value value : values) {
    FailureOr<Operand> operand =
        onDevice ? getDeviceOperand(op, value) : getOperand(op, value);
    if (failed(operand))
      return failure();
    result.push_back(std::move(*operand));
  }
  return result;
}

FailureOr<uint32_t> ListDecoder::getStream(Operation *op,
                                           FlatSymbolRefAttr stream) {
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

void ListDecoder::addInstruction(decltype(Instruction::action) action) {
  list.instructions.push_back({std::move(action), location});
}

// A temporary has no name in the IR: it is called after the operator that first
// writes it, and what is copied from a slot after that.
void ListDecoder::nameTemporaries() {
  for (const Instruction &instruction : list.instructions) {
    if (const auto *copy = std::get_if<Copy>(&instruction.action)) {
      const Buffer &source = list.buffers[copy->source.buffer];
      if (source.kind == BufferKind::Slot)
        list.buffers[copy->target.buffer].name = "prefetched " + source.name;
    }
    const auto *launch = std::get_if<Launch>(&instruction.action);
    if (!launch)
      continue;
    for (const Operand &output : launch->outputs) {
      Buffer &buffer = list.buffers[output.buffer];
      if (buffer.kind == BufferKind::Temporary && buffer.name.empty() &&
          !launch->cell.empty())
        buffer.name = "result of '" + launch->cell + "'";
    }
  }
  for (Buffer &buffer : list.buffers)
    if (buffer.name.empty())
      buffer.name = "temporary " + std::to_string(buffer.index);
}

} // namespace mf::program
