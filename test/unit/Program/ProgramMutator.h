//===- ProgramMutator.h - Decoded programs, broken at random ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_PROGRAM_PROGRAMMUTATOR_H
#define MF_TEST_UNIT_PROGRAM_PROGRAMMUTATOR_H

#include "mf/Program/Program.h"
#include <random>

namespace mf::program {

/// The thing that is broken.
enum class Mutation {
  FrameOffset,
  HostFrameOffset,
  ScratchOffset,
  BufferOffset,
  LeftOutWait,
  OtherEvent,
  OtherStream,
  OtherOperand,
  OtherArgument,
  OtherFrame,
  Order,
  SharedMemory,
  RecordPlace,
  MoreWaits,
  LeftOut,
  OtherChannel,
  OtherReduction,
  OtherSlot
};

class ProgramMutator {
public:
  explicit ProgramMutator(uint64_t seed) : random(seed) {}

  int below(size_t bound) { return static_cast<int>(random() % bound); }

  /// Changes one thing of the kind. False if the place that is drawn has no
  /// such thing. The result may be no program that the dialect can say.
  bool mutate(Program &program, Mutation mutation) {
    StageProgram &stage = pick(program.stages);
    return mutate(program, stage, pickList(stage), mutation);
  }

private:
  bool mutate(Program &program, StageProgram &stage, InstructionList &list,
              Mutation mutation) {
    return mutateList(program, list, mutation) || mutateStage(stage, mutation);
  }
  InstructionList &pickList(StageProgram &stage) {
    return below(3) == 0 || stage.routines.empty() ? stage.step
                                                   : pick(stage.routines).body;
  }

  bool mutateList(Program &program, InstructionList &list, Mutation mutation) {
    Instruction &instruction = pick(list.instructions);
    const bool isCall = instruction.work == Work::Call;
    switch (mutation) {
    case Mutation::BufferOffset:
      return move(pick(list.buffers).address.offset, 32 * (below(9) - 4));
    case Mutation::LeftOutWait:
      if (instruction.awaited.empty())
        return false;
      instruction.awaited.pop_back();
      return true;
    case Mutation::OtherStream:
      // Calls run where they are issued.
      return !isCall && set(instruction.stream, below(3));
    case Mutation::OtherOperand:
      return !instruction.accesses.empty() &&
             exchange(pick(instruction.accesses).operand, pickOperand(list));
    case Mutation::Order:
      return swapNeighbours(list);
    case Mutation::SharedMemory:
      if (instruction.accesses.empty())
        return false;
      pick(instruction.accesses).sharedAccesses ^= 1U << below(3);
      return true;
    case Mutation::MoreWaits:
      if (list.numEvents == 0 || isCall)
        return false;
      instruction.awaited.push_back(
          {static_cast<uint32_t>(below(list.numEvents)), false});
      return true;
    case Mutation::LeftOut:
      if (isCall)
        return false;
      list.instructions.erase(list.instructions.begin() +
                              (&instruction - list.instructions.data()));
      return true;
    case Mutation::OtherChannel:
      return !list.exchanges.empty() &&
             set(pick(list.exchanges).channel, below(program.channels.size()));
    case Mutation::OtherReduction:
      return !list.exchanges.empty() && changeReduction(pick(list.exchanges));
    case Mutation::OtherSlot:
      return exchangeSlots(pick(list.buffers), pick(list.buffers));
    default:
      return false;
    }
  }

  bool mutateStage(StageProgram &stage, Mutation mutation) {
    if (stage.step.calls.empty() || stage.frames.empty())
      return false;
    Call &call = pick(stage.step.calls);
    switch (mutation) {
    case Mutation::FrameOffset:
      return move(pick(pick(stage.frames).offsets), 64 * (below(9) - 4));
    case Mutation::HostFrameOffset:
      return move(pick(stage.frames).hostOffset, 64 * (below(5) - 2));
    case Mutation::ScratchOffset:
      return move(*(call.scratchOffset = call.scratchOffset.value_or(0)),
                  64 * (below(32) - 16));
    case Mutation::OtherEvent:
      return !call.events.empty() &&
             set(pick(call.events), below(stage.step.numEvents));
    case Mutation::OtherArgument: {
      const Call &other = pick(stage.step.calls);
      return !call.arguments.empty() && !other.arguments.empty() &&
             exchange(pick(call.arguments),
                      other.arguments[below(other.arguments.size())]);
    }
    case Mutation::OtherFrame:
      return call.frame && set(*call.frame, below(stage.frames.size()));
    case Mutation::RecordPlace:
      return !call.records.empty() &&
             set(pick(call.records).instruction,
                 below(stage.routines[call.routine].body.instructions.size()));
    default:
      return false;
    }
  }

  static bool move(int64_t &offset, int64_t distance) {
    offset += distance;
    return distance != 0;
  }
  static bool set(uint32_t &number, int other) {
    const bool isOther = number != static_cast<uint32_t>(other);
    number = other;
    return isOther;
  }
  static bool exchange(Operand &operand, const Operand &other) {
    const bool isOther =
        operand.buffer != other.buffer || operand.offset != other.offset;
    operand = other;
    return isOther;
  }
  static bool changeReduction(Exchange &exchange) {
    exchange.reduction =
        exchange.reduction == Reduction::Sum ? Reduction::Max : Reduction::Sum;
    return true;
  }
  static bool exchangeSlots(Buffer &buffer, Buffer &other) {
    if (buffer.kind != BufferKind::Slot || other.kind != BufferKind::Slot ||
        buffer.index == other.index || buffer.shape != other.shape)
      return false;
    std::swap(buffer, other);
    return true;
  }

  template <typename List> typename List::value_type &pick(List &values) {
    return values[below(values.size())];
  }
  Operand pickOperand(InstructionList &list) {
    const auto number = static_cast<uint32_t>(below(list.buffers.size()));
    return {number, 0, list.buffers[number].bytes};
  }
  bool swapNeighbours(InstructionList &list) {
    if (list.instructions.size() < 2)
      return false;
    const size_t at = below(list.instructions.size() - 1);
    Instruction &first = list.instructions[at];
    Instruction &second = list.instructions[at + 1];
    // Calls are numbered in the order of the step.
    if (first.work == Work::Call && second.work == Work::Call)
      return false;
    std::swap(first, second);
    return true;
  }

  std::mt19937_64 random;
};

} // namespace mf::program

#endif // MF_TEST_UNIT_PROGRAM_PROGRAMMUTATOR_H
