//===- ChunkRun.cpp - The routines of a chunk on terms --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ChunkRun.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::program {

//===----------------------------------------------------------------------===//
// Statics
//===----------------------------------------------------------------------===//

/// Tied parameters have the same value. A parameter that is gathered from
/// shards is identified by its parameter.
Term StaticTerms::getInitial(const Static &buffer) {
  if (buffer.role == Role::Constant && buffer.init &&
      buffer.init->kind == InitialValue::Kind::Constant)
    return getConstantTerm(buffer.init->value);
  if (buffer.role != Role::Parameter && buffer.role != Role::Table)
    return getInputTerm("static", buffer.name);
  return getInputTerm("parameter", !buffer.tied.empty() ? buffer.tied
                                   : !buffer.of.empty() ? buffer.of
                                                        : buffer.name);
}

/// Runs the instructions of the step before its first task.
StaticTerms::StaticTerms(const Program &program, const StageProgram &stage) {
  for (const Static &buffer : stage.statics)
    statics.emplace_back(buffer.bytes, getInitial(buffer));
  const EqualTerms equal;
  ChunkRun run(program, *this, equal);
  for (const Instruction &instruction : stage.step.instructions) {
    const Call *call = stage.step.getCall(instruction);
    if (call && call->frame)
      break;
    run.runStep(stage, instruction);
    ++numInstructions;
  }
  for (const auto &[number, terms] : run.getStatics())
    statics[number] = terms;
}

BufferTerms &ChunkRun::getStatic(uint32_t number) {
  auto found = statics.find(number);
  if (found == statics.end())
    found = statics.emplace(number, base.get(number)).first;
  return found->second;
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

TermRange ChunkRun::resolve(const InstructionList &list, const Operand &operand,
                            llvm::ArrayRef<TermRange> arguments) {
  const Buffer &buffer = list.buffers[operand.buffer];
  TermRange range{nullptr, operand.offset, operand.bytes};
  switch (buffer.kind) {
  case BufferKind::Static:
    range.buffer = &getStatic(buffer.index);
    break;
  case BufferKind::Slot:
    range.buffer = &slots[buffer.index];
    break;
  case BufferKind::Argument:
    if (buffer.index < arguments.size()) {
      range.buffer = arguments[buffer.index].buffer;
      range.begin += arguments[buffer.index].begin;
    } else {
      range.buffer = &none;
    }
    break;
  case BufferKind::Temporary:
  case BufferKind::Message:
    range.buffer = &temporaries[operand.buffer];
    break;
  }
  return range;
}

void ChunkRun::note(const InstructionList &list, const Instruction &instruction,
                    llvm::ArrayRef<TermRange> outputs) {
  if (!notesMakers)
    return;
  std::string name = instruction.work == Work::Kernel
                         ? program.kernels[instruction.index].spec.name
                         : getName(list.getExchange(instruction)->kind).str();
  if (!instruction.cell.empty())
    name += " ('" + instruction.cell + "')";
  for (const TermRange &output : outputs)
    makers.try_emplace(output.read(), name);
}

void ChunkRun::runInstruction(const InstructionList &list,
                              const Instruction &instruction,
                              llvm::ArrayRef<TermRange> arguments) {
  llvm::SmallVector<TermRange> ranges;
  for (const MemoryAccess &access : instruction.accesses)
    ranges.push_back(resolve(list, access.operand, arguments));
  const llvm::ArrayRef<TermRange> all(ranges);
  if (instruction.work == Work::Kernel) {
    const LaunchedKernel &kernel = program.kernels[instruction.index];
    const size_t numInputs = kernel.spec.inputs.size();
    const auto outputs = all.slice(numInputs, kernel.spec.outputs.size());
    runKernel(kernel.spec, *kernel.signature, all.take_front(numInputs),
              outputs, equal);
    note(list, instruction, outputs);
  } else if (instruction.work == Work::Copy) {
    ranges[1].buffer->copy(*ranges[0].buffer, ranges[0].begin, ranges[1].begin,
                           ranges[1].bytes);
  } else if (const Exchange *exchange = list.getExchange(instruction)) {
    const Channel &channel = program.channels[exchange->channel];
    // The certificate of a chunk contains no values that a peer sends.
    if (channel.isTransfer) {
      if (!exchange->isSend)
        ranges[0].buffer->write(ranges[0].begin, ranges[0].bytes,
                                getInputTerm("message", channel.name));
      return;
    }
    runCollective({exchange->kind, exchange->reduction, exchange->type,
                   exchange->rows.fill, channel.group},
                  all.drop_back(), ranges.back(), equal);
    note(list, instruction, ranges.back());
  }
}

void ChunkRun::run(const Routine &routine,
                   llvm::ArrayRef<TermRange> arguments) {
  temporaries.clear();
  for (const Instruction &instruction : routine.body.instructions)
    runInstruction(routine.body, instruction, arguments);
}

void ChunkRun::runStep(const StageProgram &stage,
                       const Instruction &instruction) {
  const Call *call = stage.step.getCall(instruction);
  if (!call)
    return runInstruction(stage.step, instruction, {});
  if (call->frame)
    return;
  llvm::SmallVector<TermRange> arguments;
  for (const Operand &argument : call->arguments)
    arguments.push_back(resolve(stage.step, argument));
  const Routine &routine = stage.routines[call->routine];
  std::map<uint32_t, BufferTerms> ofStep;
  std::swap(temporaries, ofStep);
  run(routine, arguments);
  std::swap(temporaries, ofStep);
}

} // namespace mf::program
