//===- StepLines.cpp - A step on the lines of the simulator ---------------===//

#include "StepLines.h"
#include "mf/Program/Description.h"

namespace mf::simulator {

using namespace program;

StepLines::StepLines(const Program &program, const StepCosts &costs)
    : program(program), costs(costs), groups(program.channels.size()),
      numExchanges(program.stages.size(),
                   std::vector<std::array<uint32_t, 2>>(program.channels.size(),
                                                        {0, 0})) {
  for (size_t stage = 0; stage < program.stages.size(); ++stage)
    ops.push_back(makeStageOps(program, stage, costs));
  for (size_t stage = 0; stage < program.stages.size(); ++stage)
    addStage(stage);
}

void StepLines::addStage(size_t number) {
  const StageProgram &stage = program.stages[number];
  uint64_t numEvents = stage.step.numEvents;
  for (const Call &call : stage.step.calls)
    numEvents += stage.routines[call.routine].body.numEvents;
  firstEvents.push_back(lines.addEvents(static_cast<int32_t>(numEvents)));
  firstLines.push_back(lines.getNumLines());
  for (size_t stream = 0; stream < stage.streams.size(); ++stream)
    lines.addLine();
  walk(number, [&](const Emitted &emitted) { addItem(number, emitted); });
}

void StepLines::addItem(size_t stage, const Emitted &emitted) {
  const sim::LineId line = getLine(stage, emitted.stream);
  auto event = [&] {
    return firstEvents[stage] + static_cast<sim::EventId>(emitted.event);
  };
  switch (emitted.op->kind) {
  case OpKind::Kernels:
  case OpKind::Copy:
  case OpKind::Held:
    lines.addWork(line, emitted.op->seconds);
    return;
  case OpKind::Exchange:
    return addExchange(stage, line, emitted);
  case OpKind::Wait:
    lines.addWait(line, event());
    return;
  case OpKind::Record:
  case OpKind::CallRecord:
    lines.addRecord(line, event());
    return;
  case OpKind::Call:
    llvm_unreachable("its routine is put on lines instead");
  }
}

void StepLines::addExchange(size_t stage, sim::LineId line,
                            const Emitted &emitted) {
  const Exchange &exchange =
      *emitted.list->getExchange(emitted.list->instructions[emitted.op->first]);
  const Channel &channel = program.channels[exchange.channel];
  const target::TransferCost &cost = costs.getTransfer(emitted.op->operand);
  const double seconds = cost.latency + cost.seconds;
  if (!channel.isTransfer && !channel.group.crossesStages()) {
    lines.addWork(line, seconds);
    return;
  }
  const uint32_t number =
      numExchanges[stage][exchange.channel][exchange.isSend ? 1 : 0]++;
  std::vector<sim::GroupId> &ofChannel = groups[exchange.channel];
  if (ofChannel.size() <= number)
    ofChannel.push_back(lines.addGroup(seconds));
  lines.addRendezvous(line, ofChannel[number]);
}

std::pair<size_t, Emitted> StepLines::find(sim::ItemId item) const {
  size_t stage = firstLines.size() - 1;
  while (firstLines[stage] > item.line)
    --stage;
  int32_t index = 0;
  Emitted found;
  walk(stage, [&](const Emitted &emitted) {
    if (getLine(stage, emitted.stream) == item.line && index++ == item.index)
      found = emitted;
  });
  return {stage, found};
}

std::string StepLines::describeItem(sim::ItemId item) const {
  const auto [stage, emitted] = find(item);
  return "stage " + std::to_string(stage) + ": " +
         describe(program, program.stages[stage], emitted.position,
                  emitted.call ? emitted.op->first : callItself);
}

uint32_t StepLines::getLocation(sim::ItemId item) const {
  const auto [stage, emitted] = find(item);
  return getInstruction(program.stages[stage], emitted.position,
                        emitted.call ? emitted.op->first : callItself)
      .location;
}

} // namespace mf::simulator
