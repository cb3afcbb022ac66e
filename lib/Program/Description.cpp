//===- Description.cpp - Descriptions of instructions in messages ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Description.h"

namespace mf::program {

const Instruction &getInstruction(const StageProgram &stage, uint32_t position,
                                  uint32_t instruction) {
  const Instruction &outer = stage.step.instructions[position];
  const Call *call =
      instruction == callItself ? nullptr : stage.step.getCall(outer);
  return call ? stage.routines[call->routine].body.instructions[instruction]
              : outer;
}

/// Returns the name of an instruction's work.
static std::string getWorkName(const Program &program,
                               const InstructionList &list,
                               const Instruction &instruction) {
  switch (instruction.work) {
  case Work::Kernel:
    return program.kernels[instruction.index].spec.name;
  case Work::Copy:
    return "copy";
  case Work::Call:
    return "call";
  case Work::None:
    return instruction.recorded ? "record" : "wait";
  case Work::Exchange:
    break;
  }
  const Exchange &exchange = list.exchanges[instruction.index];
  if (!program.channels[exchange.channel].isTransfer)
    return getName(exchange.kind).str();
  return exchange.isSend ? "send" : "receive";
}

std::string describe(const Program &program, const StageProgram &stage,
                     uint32_t position, uint32_t instruction) {
  const Call *call = stage.step.getCall(stage.step.instructions[position]);
  const InstructionList &list = call && instruction != callItself
                                    ? stage.routines[call->routine].body
                                    : stage.step;
  const Instruction &target = getInstruction(stage, position, instruction);
  std::string text = getWorkName(program, list, target) + " (";
  if (!target.cell.empty())
    text += "'" + target.cell + "', ";
  if (const Exchange *exchange = list.getExchange(target))
    text += "channel '" + program.channels[exchange->channel].name + "', ";
  if (call) {
    text += "task '" + stage.routines[call->routine].name + "'";
    if (call->microBatch)
      text += " of micro-batch " + std::to_string(*call->microBatch);
    text += ", ";
  }
  return text + "stream '" + stage.streams[target.stream].name + "')";
}

} // namespace mf::program
