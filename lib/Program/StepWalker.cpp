//===- StepWalker.cpp - The step with its calls expanded ------------------===//

#include "mf/Program/StepWalker.h"
#include <algorithm>

namespace mf::program {

/// The buffers of one kind that a list declares, by index.
static std::vector<const Buffer *> findBuffers(const InstructionList &list,
                                               BufferKind kind) {
  std::vector<const Buffer *> found;
  for (const Buffer &buffer : list.buffers)
    if (buffer.kind == kind) {
      if (found.size() <= buffer.index)
        found.resize(buffer.index + 1, nullptr);
      if (!found[buffer.index])
        found[buffer.index] = &buffer;
    }
  return found;
}

InstanceTable::InstanceTable(const StageProgram &program) : program(program) {
  firstMessage = program.statics.size();
  messages = findBuffers(program.step, BufferKind::Message);
  uint64_t numInstances = firstMessage + messages.size();
  for (const Frame &frame : program.frames) {
    frameSlots.push_back(numInstances);
    numInstances += program.layouts[frame.layout].slots.size();
  }
  firstTemporary = numInstances;
  temporaries.reserve(program.routines.size());
  for (const Routine &routine : program.routines)
    temporaries.push_back(findBuffers(routine.body, BufferKind::Temporary));
  for (uint32_t i = 0; i < program.step.instructions.size(); ++i)
    if (const Call *call = program.step.getCall(program.step.instructions[i])) {
      callTemporaries.push_back({i, numInstances});
      numInstances += temporaries[call->routine].size();
    }
}

uint64_t InstanceTable::getFirstTemporary(uint32_t callPosition) const {
  auto found =
      std::lower_bound(callTemporaries.begin(), callTemporaries.end(),
                       callPosition, [](const auto &entry, uint32_t position) {
                         return entry.first < position;
                       });
  return found->second;
}

InstanceTable::Origin InstanceTable::getOrigin(uint64_t instance) const {
  Origin origin;
  if (instance < firstMessage) {
    origin.index = instance;
  } else if (instance < firstTemporary &&
             (frameSlots.empty() || instance < frameSlots.front())) {
    origin.kind = BufferKind::Message;
    origin.index = instance - firstMessage;
  } else if (instance < firstTemporary) {
    origin.kind = BufferKind::Slot;
    auto next =
        std::upper_bound(frameSlots.begin(), frameSlots.end(), instance);
    origin.frame = next - frameSlots.begin() - 1;
    origin.index = instance - frameSlots[origin.frame];
  } else {
    origin.kind = BufferKind::Temporary;
    auto next = std::upper_bound(
        callTemporaries.begin(), callTemporaries.end(), instance,
        [](uint64_t id, const auto &entry) { return id < entry.second; });
    --next;
    origin.callPosition = next->first;
    origin.index = instance - next->second;
  }
  return origin;
}

const Buffer &InstanceTable::getTemporary(const Origin &origin) const {
  const Call &call =
      *program.step.getCall(program.step.instructions[origin.callPosition]);
  return *temporaries[call.routine][origin.index];
}

MemoryRange InstanceTable::getMemory(uint64_t instance) const {
  const Origin origin = getOrigin(instance);
  switch (origin.kind) {
  case BufferKind::Static: {
    const Static &buffer = program.statics[origin.index];
    return {buffer.space, buffer.offset, buffer.bytes, instance};
  }
  case BufferKind::Slot: {
    const Frame &frame = program.frames[origin.frame];
    const Slot &slot = program.layouts[frame.layout].slots[origin.index];
    return {slot.space, frame.getOffset(slot), slot.bytes, instance};
  }
  case BufferKind::Temporary: {
    const Call &call =
        *program.step.getCall(program.step.instructions[origin.callPosition]);
    const Buffer &buffer = getTemporary(origin);
    const int64_t base =
        buffer.address.base == Base::Frame
            ? program.frames[*call.frame].offsets[buffer.address.number]
            : *call.scratchOffset;
    return {Space::Device, base + buffer.address.offset, buffer.bytes,
            instance};
  }
  case BufferKind::Message:
  case BufferKind::Argument:
    break;
  }
  const Buffer &buffer = *messages[origin.index];
  return {buffer.space, buffer.address.offset, buffer.bytes, instance};
}

static std::string getFrameSuffix(const Frame &frame) {
  return " of micro-batch " + std::to_string(frame.microBatch);
}

std::string InstanceTable::getName(uint64_t instance) const {
  const Origin origin = getOrigin(instance);
  switch (origin.kind) {
  case BufferKind::Static: {
    const Static &buffer = program.statics[origin.index];
    return mf::program::getName(buffer.role).str() + " '" +
           (buffer.of.empty() ? buffer.name : buffer.of) + "'";
  }
  case BufferKind::Slot: {
    const Frame &frame = program.frames[origin.frame];
    return "residual '" +
           program.layouts[frame.layout].slots[origin.index].name + "'" +
           getFrameSuffix(frame);
  }
  case BufferKind::Temporary:
    return getTemporary(origin).name;
  case BufferKind::Message:
  case BufferKind::Argument:
    break;
  }
  return messages[origin.index]->name;
}

Scope StepWalker::enter(uint32_t position) const {
  const Call &call = *program.step.getCall(program.step.instructions[position]);
  Scope scope;
  scope.call = &call;
  scope.callPosition = position;
  scope.list = &program.routines[call.routine].body;
  scope.scratchOffset = call.scratchOffset.value_or(0);
  scope.firstTemporary = table.getFirstTemporary(position);
  if (call.frame) {
    scope.frameOffsets = program.frames[*call.frame].offsets;
    scope.hostFrameOffset = program.frames[*call.frame].hostOffset;
    scope.firstSlot = table.getFirstSlot(*call.frame);
  }
  scope.arguments.reserve(call.arguments.size());
  for (const Operand &argument : call.arguments)
    scope.arguments.push_back(resolve(step, argument));
  return scope;
}

MemoryRange StepWalker::resolve(const Scope &scope,
                                const Operand &operand) const {
  const Buffer &buffer = scope.list->buffers[operand.buffer];
  MemoryRange access;
  access.space = buffer.space;
  access.bytes = operand.bytes;
  access.offset = buffer.address.offset + operand.offset;
  switch (buffer.address.base) {
  case Base::Device:
  case Base::Host:
    break;
  case Base::Frame:
    access.offset += scope.frameOffsets[buffer.address.number];
    break;
  case Base::HostFrame:
    access.offset += scope.hostFrameOffset;
    break;
  case Base::Scratch:
    access.offset += scope.scratchOffset;
    break;
  case Base::Argument:
    access.offset += scope.arguments[buffer.address.number].offset;
    break;
  }
  switch (buffer.kind) {
  case BufferKind::Static:
    access.instance = table.getStatic(buffer.index);
    break;
  case BufferKind::Message:
    access.instance = table.getMessage(buffer.index);
    break;
  case BufferKind::Slot:
    access.instance =
        (scope.call ? scope.firstSlot : table.getFirstSlot(buffer.frame)) +
        buffer.index;
    break;
  case BufferKind::Temporary:
    access.instance = scope.firstTemporary + buffer.index;
    break;
  case BufferKind::Argument:
    access.instance = scope.arguments[buffer.index].instance;
    break;
  }
  return access;
}

} // namespace mf::program
