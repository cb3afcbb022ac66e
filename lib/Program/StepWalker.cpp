//===- StepWalker.cpp - The step with its calls expanded ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/StepWalker.h"
#include <algorithm>

namespace mf::program {

/// Returns the buffers of one kind that a list declares, by index.
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
  numEvents = program.step.numEvents;
  for (uint32_t i = 0; i < program.step.instructions.size(); ++i)
    if (const Call *call = program.step.getCall(program.step.instructions[i])) {
      calls.push_back({i, numInstances, numEvents});
      numInstances += temporaries[call->routine].size();
      numEvents += program.routines[call->routine].body.numEvents;
    }
}

const InstanceTable::CallNumbers &
InstanceTable::getCall(uint32_t position) const {
  return *std::lower_bound(calls.begin(), calls.end(), position,
                           [](const CallNumbers &call, uint32_t position) {
                             return call.position < position;
                           });
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
    auto next = std::upper_bound(calls.begin(), calls.end(), instance,
                                 [](uint64_t id, const CallNumbers &call) {
                                   return id < call.firstTemporary;
                                 });
    --next;
    origin.callPosition = next->position;
    origin.index = instance - next->firstTemporary;
  }
  return origin;
}

const Buffer &InstanceTable::getTemporary(const Origin &origin) const {
  const Call &call =
      *program.step.getCall(program.step.instructions[origin.callPosition]);
  return *temporaries[call.routine][origin.index];
}

/// Returns the offset of a base of a call's own memory. Arguments belong to the
/// caller.
static int64_t getBaseOffset(const StageProgram &program, const Call &call,
                             Base base, uint32_t number) {
  switch (base) {
  case Base::Frame:
    return program.frames[*call.frame].offsets[number];
  case Base::HostFrame:
    return call.frame ? program.frames[*call.frame].hostOffset : 0;
  case Base::Scratch:
    return call.scratchOffset.value_or(0);
  case Base::Device:
  case Base::Host:
  case Base::Argument:
    break;
  }
  return 0;
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
    const Address &address = buffer.address;
    return {Space::Device,
            getBaseOffset(program, call, address.base, address.number) +
                address.offset,
            buffer.bytes, instance};
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

/// Adds the bases that all lists have, in the order of Base.
static void addFixedBases(Scope &scope, int64_t hostFrame, int64_t scratch) {
  scope.bases = {{Space::Device, 0},
                 {Space::Host, 0},
                 {Space::Host, hostFrame},
                 {Space::Device, scratch}};
}

StepWalker::StepWalker(const StageProgram &program, const InstanceTable &table)
    : program(program), table(table) {
  step.list = &program.step;
  addFixedBases(step, 0, 0);
}

Scope StepWalker::enter(uint32_t position) const {
  const Call &call = *program.step.getCall(program.step.instructions[position]);
  const InstanceTable::CallNumbers &numbers = table.getCall(position);
  Scope scope;
  scope.call = &call;
  scope.callPosition = position;
  scope.list = &program.routines[call.routine].body;
  scope.firstTemporary = numbers.firstTemporary;
  scope.firstEvent = numbers.firstEvent;
  auto getOffset = [&](Base base, uint32_t number) {
    return getBaseOffset(program, call, base, number);
  };
  addFixedBases(scope, getOffset(Base::HostFrame, 0),
                getOffset(Base::Scratch, 0));
  scope.arguments.reserve(call.arguments.size());
  for (const Operand &argument : call.arguments) {
    const MemoryRange &range =
        scope.arguments.emplace_back(resolve(step, argument));
    scope.bases.push_back({range.space, range.offset});
  }
  if (!call.frame)
    return scope;
  scope.firstSlot = table.getFirstSlot(*call.frame);
  const size_t numParts = program.frames[*call.frame].offsets.size();
  for (uint32_t part = 0; part < numParts; ++part)
    scope.bases.push_back({Space::Device, getOffset(Base::Frame, part)});
  return scope;
}

MemoryRange StepWalker::resolve(const Scope &scope,
                                const Operand &operand) const {
  const Buffer &buffer = scope.list->buffers[operand.buffer];
  MemoryRange access;
  access.space = buffer.space;
  access.bytes = operand.bytes;
  access.begin = operand.offset;
  access.offset =
      scope.bases[getBaseNumber(buffer.address, scope.arguments.size())]
          .offset +
      buffer.address.offset + operand.offset;
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
    access.begin += scope.arguments[buffer.index].begin;
    break;
  }
  return access;
}

} // namespace mf::program
