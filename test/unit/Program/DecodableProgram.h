//===- DecodableProgram.h - Could decoding give a program? -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_PROGRAM_DECODABLEPROGRAM_H
#define MF_TEST_UNIT_PROGRAM_DECODABLEPROGRAM_H

#include "mf/Program/Program.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::program {

/// The checks that decoding has done before a proof sees a program: a mutation
/// that breaks one is no program.
class DecodableStage {
public:
  DecodableStage(const Program &program, const StageProgram &stage,
                 const StageProgram &right)
      : program(program), stage(stage), right(right) {}

  bool check() const {
    for (const Frame &frame : stage.frames)
      if (!isFrameInside(frame))
        return false;
    for (auto [number, routine] : llvm::enumerate(stage.routines))
      if (!checkList(routine.body, right.routines[number].body,
                     stage.layouts[routine.layout.value_or(0)], routine))
        return false;
    return checkList(stage.step, right.step, stage.layouts[0], {}) &&
           checkCalls();
  }

private:
  static bool isInside(int64_t begin, int64_t bytes, int64_t end) {
    return begin >= 0 && begin + bytes <= end;
  }

  bool isFrameInside(const Frame &frame) const {
    const FrameLayout &layout = stage.layouts[frame.layout];
    for (uint32_t part = 0; part < layout.parts.size(); ++part)
      if (!isInside(frame.offsets[part], layout.getPartBytes(part),
                    stage.arenaBytes))
        return false;
    return isInside(frame.hostOffset, layout.hostBytes, stage.hostBytes);
  }

  bool isBufferInside(const Buffer &buffer, const FrameLayout &layout,
                      const Routine &routine) const {
    const Address &address = buffer.address;
    // Statics lie where the stage says.
    if (buffer.kind == BufferKind::Static)
      return address.offset == stage.statics[buffer.index].offset;
    switch (address.base) {
    case Base::Device:
      return isInside(address.offset, buffer.bytes, stage.arenaBytes);
    case Base::Host:
      return isInside(address.offset, buffer.bytes, stage.hostBytes);
    case Base::HostFrame:
      return isInside(address.offset, buffer.bytes, layout.hostBytes);
    case Base::Scratch:
      return isInside(address.offset, buffer.bytes, routine.scratchBytes);
    case Base::Argument:
      return address.offset == 0;
    case Base::Frame:
      return isInside(address.offset, buffer.bytes,
                      layout.getPartBytes(address.number));
    }
    return false;
  }

  /// Events are recorded before they are awaited; operands have the shapes that
  /// kernels and exchanges were made for.
  bool checkList(const InstructionList &list, const InstructionList &rightList,
                 const FrameLayout &layout, const Routine &routine) const {
    for (const Buffer &buffer : list.buffers)
      if (!isBufferInside(buffer, layout, routine))
        return false;
    llvm::SmallVector<bool> isRecorded(list.numEvents);
    for (const Instruction &instruction : list.instructions) {
      for (const AwaitedEvent &awaited : instruction.awaited)
        if (!awaited.isArgument && !isRecorded[awaited.event])
          return false;
      if (instruction.recorded)
        isRecorded[*instruction.recorded] = true;
      if (instruction.work == Work::Kernel &&
          instruction.stream != stage.computeStream)
        return false;
      if (!hasOperands(list, instruction, rightList))
        return false;
      if (const Call *call = list.getCall(instruction)) {
        for (const uint32_t event : call->events)
          if (!isRecorded[event])
            return false;
        for (const CallRecord &record : call->records)
          if (record.record.recorded)
            isRecorded[*record.record.recorded] = true;
      }
    }
    return hasChannels(list, rightList);
  }

  bool hasOperands(const InstructionList &list, const Instruction &instruction,
                   const InstructionList &rightList) const {
    const auto like =
        llvm::find_if(rightList.instructions, [&](const Instruction &other) {
          return other.location == instruction.location &&
                 other.work == instruction.work &&
                 other.accesses.size() == instruction.accesses.size();
        });
    if (like == rightList.instructions.end())
      return instruction.accesses.empty();
    // A channel is used on one stream.
    if (instruction.work == Work::Exchange &&
        instruction.stream != like->stream)
      return false;
    for (auto [access, other] :
         llvm::zip_equal(instruction.accesses, like->accesses)) {
      const Buffer &buffer = list.buffers[access.operand.buffer];
      const Buffer &rightBuffer = rightList.buffers[other.operand.buffer];
      if (access.operand.bytes != other.operand.bytes ||
          buffer.shape != rightBuffer.shape ||
          buffer.space != rightBuffer.space)
        return false;
    }
    return true;
  }

  bool hasChannels(const InstructionList &list,
                   const InstructionList &rightList) const {
    for (auto [exchange, other] :
         llvm::zip_equal(list.exchanges, rightList.exchanges)) {
      const Channel &channel = program.channels[exchange.channel];
      const Channel &before = program.channels[other.channel];
      if (channel.isTransfer != before.isTransfer ||
          (channel.isTransfer && (channel.fromStage != before.fromStage ||
                                  channel.toStage != before.toStage)))
        return false;
    }
    return true;
  }

  bool checkCalls() const {
    for (auto [call, other] :
         llvm::zip_equal(stage.step.calls, right.step.calls)) {
      const Routine &routine = stage.routines[call.routine];
      if (call.frame.has_value() != other.frame.has_value() ||
          (call.frame && stage.frames[*call.frame].layout !=
                             stage.frames[*other.frame].layout))
        return false;
      if (!other.scratchOffset && call.scratchOffset)
        return false;
      if (call.scratchOffset &&
          !isInside(*call.scratchOffset, routine.scratchBytes,
                    stage.arenaBytes))
        return false;
      for (auto [argument, before] :
           llvm::zip_equal(call.arguments, other.arguments)) {
        const Buffer &buffer = stage.step.buffers[argument.buffer];
        if (argument.bytes != before.bytes ||
            buffer.space != stage.step.buffers[before.buffer].space)
          return false;
      }
      for (const CallRecord &record : call.records)
        if (record.instruction >= routine.body.instructions.size())
          return false;
    }
    return true;
  }

  const Program &program;
  const StageProgram &stage, &right;
};

/// Whether a program that was broken is one that decoding accepts, as it does
/// `right`.
inline bool isDecodable(const Program &program, const Program &right) {
  for (auto [stage, rightStage] : llvm::zip_equal(program.stages, right.stages))
    if (!DecodableStage(program, stage, rightStage).check())
      return false;
  return true;
}

} // namespace mf::program

#endif // MF_TEST_UNIT_PROGRAM_DECODABLEPROGRAM_H
