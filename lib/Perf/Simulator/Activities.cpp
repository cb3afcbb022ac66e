//===- Activities.cpp - Activities of instructions in timelines -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/Simulator/Activities.h"
#include "StepCosts.h"
#include "llvm/ADT/StringExtras.h"

namespace mf::simulator {

using namespace program;
using timeline::Activity;

std::string getExchangeKind(const Program &program, const Exchange &exchange) {
  const Channel &channel = program.channels[exchange.channel];
  if (channel.isTransfer)
    return exchange.isSend ? "send" : "receive";
  return (getName(exchange.kind) + " over " +
          llvm::join(channel.group.axes, ", "))
      .str();
}

llvm::StringRef getCopyKind(StreamKind stream) {
  switch (stream) {
  case StreamKind::HostToDevice:
    return "h2d";
  case StreamKind::DeviceToHost:
    return "d2h";
  case StreamKind::Compute:
  case StreamKind::Communication:
    return "copy";
  }
  llvm_unreachable("covers all kinds");
}

static void describeKernel(const LaunchedKernel &kernel, Activity &activity) {
  activity.category = timeline::Category::Kernel;
  activity.name = kernel.spec.name;
  activity.kind = kernel.signature->kind.str();
  activity.engine = kernel.signature->engine;
  activity.flops = kernel.flops;
  activity.bytes = kernel.bytes;
  activity.inputs.assign(kernel.spec.inputs.begin(), kernel.spec.inputs.end());
  activity.outputs.assign(kernel.spec.outputs.begin(),
                          kernel.spec.outputs.end());
}

void ActivityTable::describeExchange(const Program &program, int64_t stage,
                                     const InstructionList &list,
                                     const Instruction &instruction,
                                     Activity &activity) {
  const Exchange &exchange = *list.getExchange(instruction);
  const Channel &channel = program.channels[exchange.channel];
  activity.category = !channel.isTransfer ? timeline::Category::Collective
                      : exchange.isSend   ? timeline::Category::Send
                                          : timeline::Category::Receive;
  activity.kind = getExchangeKind(program, exchange);
  activity.name =
      channel.isTransfer ? activity.kind : getName(exchange.kind).str();
  activity.engine = Engine::Communication;
  activity.bytes = getTransferBytes(list, instruction);
  const int64_t rank = stage * program.mesh.getRanksPerStage();
  auto [found, isNew] =
      members.try_emplace({rank, exchange.channel, exchange.isSend});
  if (isNew)
    found->second = channel.getMembers(program.mesh, rank, exchange.isSend);
  activity.ranks = found->second;
}

static void describeCopy(StreamKind stream, int64_t bytes, Activity &activity) {
  activity.category =
      stream == StreamKind::HostToDevice   ? timeline::Category::CopyToDevice
      : stream == StreamKind::DeviceToHost ? timeline::Category::CopyToHost
                                           : timeline::Category::Kernel;
  activity.kind = getCopyKind(stream).str();
  activity.name = "copy";
  activity.engine = Engine::Copy;
  activity.bytes = bytes;
}

void ActivityTable::addList(const Program &program, const StageProgram &stage,
                            const InstructionList &list) {
  for (const Instruction &instruction : list.instructions) {
    Activity &activity = activities.emplace_back();
    activity.cell = instruction.cell;
    if (instruction.work == Work::Kernel)
      describeKernel(program.kernels[instruction.index], activity);
    else if (instruction.work == Work::Exchange)
      describeExchange(program, stage.stage, list, instruction, activity);
    else if (instruction.work == Work::Copy)
      describeCopy(stage.streams[instruction.stream].kind,
                   instruction.accesses.front().operand.bytes, activity);
  }
}

ActivityTable::ActivityTable(const Program &program) {
  for (const StageProgram &stage : program.stages) {
    std::vector<uint32_t> &ofStage = first.emplace_back();
    auto add = [&](const InstructionList &list) {
      ofStage.push_back(static_cast<uint32_t>(activities.size()));
      addList(program, stage, list);
    };
    add(stage.step);
    for (const Routine &routine : stage.routines)
      add(routine.body);
  }
}

} // namespace mf::simulator
