//===- FrameEvents.cpp - Uses of frames in a step -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "FrameEvents.h"
#include <map>

namespace mf::program {

namespace {

/// Assigns numbers to the buffers of a frame's events.
class EventList {
public:
  uint32_t getNumber(const Operand &operand) {
    return numbers.try_emplace({operand.buffer, operand.offset}, numbers.size())
        .first->second;
  }

  std::vector<FrameEvent> events;

private:
  std::map<std::pair<uint32_t, int64_t>, uint32_t> numbers;
};

} // namespace

std::vector<std::vector<FrameEvent>>
findFrameEvents(const StageProgram &stage) {
  std::vector<EventList> lists(stage.frames.size());
  for (const Instruction &instruction : stage.step.instructions) {
    FrameEvent event;
    event.location = instruction.location;
    if (const Call *call = stage.step.getCall(instruction)) {
      if (!call->frame)
        continue;
      EventList &list = lists[*call->frame];
      event.routine = call->routine;
      for (const Operand &argument : call->arguments)
        event.arguments.push_back(list.getNumber(argument));
      list.events.push_back(std::move(event));
    } else if (instruction.work == Work::Copy) {
      const Operand &source = instruction.accesses[0].operand;
      const Buffer &buffer = stage.step.buffers[source.buffer];
      if (buffer.kind != BufferKind::Slot)
        continue;
      EventList &list = lists[buffer.frame];
      event.slot = buffer.index;
      event.arguments.push_back(
          list.getNumber(instruction.accesses[1].operand));
      list.events.push_back(std::move(event));
    }
  }
  std::vector<std::vector<FrameEvent>> result;
  for (EventList &list : lists)
    result.push_back(std::move(list.events));
  return result;
}

int64_t getArgumentBytes(const Routine &routine, uint32_t argument) {
  int64_t bytes = 0;
  for (const Buffer &buffer : routine.body.buffers)
    if (buffer.kind == BufferKind::Argument && buffer.index == argument)
      bytes = std::max(bytes, buffer.bytes);
  return bytes;
}

} // namespace mf::program
