//===- Description.cpp - What messages call an instruction ----------------===//

#include "Description.h"
#include "StepWalker.h"

namespace mf::program {

const Instruction &getInstruction(const Rank &rank, uint32_t position,
                                  uint32_t instruction) {
  const Instruction &outer = rank.step.instructions[position];
  const auto *call = std::get_if<Call>(&outer.action);
  return call ? rank.routines[call->routine].body.instructions[instruction]
              : outer;
}

namespace {

/// The name of the operator alone.
struct Namer {
  const Program &program;

  std::string operator()(const Launch &launch) const {
    return program.kernels[launch.kernel].name;
  }
  std::string operator()(const Call &) const { return "call"; }
  std::string operator()(const Record &) const { return "record"; }
  std::string operator()(const Wait &) const { return "wait"; }
  std::string operator()(const Copy &) const { return "copy"; }
  std::string operator()(const Transfer &transfer) const {
    return transfer.isSend ? "send" : "receive";
  }
  std::string operator()(const AllReduce &) const { return "all_reduce"; }
};

std::string getChannelName(const Program &program,
                           const Instruction &instruction) {
  if (const auto *transfer = std::get_if<Transfer>(&instruction.action))
    return program.channels[transfer->channel].name;
  if (const auto *reduce = std::get_if<AllReduce>(&instruction.action))
    return program.channels[reduce->channel].name;
  return {};
}

} // namespace

std::string describe(const Program &program, const Rank &rank,
                     uint32_t position, uint32_t instruction) {
  const Instruction &target = getInstruction(rank, position, instruction);
  std::string text = std::visit(Namer{program}, target.action) + " (";
  if (const auto *launch = std::get_if<Launch>(&target.action))
    if (!launch->cell.empty())
      text += "'" + launch->cell + "', ";
  if (std::string channel = getChannelName(program, target); !channel.empty())
    text += "channel '" + channel + "', ";
  if (const auto *call =
          std::get_if<Call>(&rank.step.instructions[position].action)) {
    text += "task '" + rank.routines[call->routine].name + "'";
    if (call->microBatch)
      text += " of micro-batch " + std::to_string(*call->microBatch);
    text += ", ";
  }
  if (std::optional<uint32_t> stream = getStream(rank, target))
    text += "stream '" + rank.streams[*stream].name + "'";
  return text + ")";
}

} // namespace mf::program
