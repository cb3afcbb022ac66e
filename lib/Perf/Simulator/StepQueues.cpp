//===- StepQueues.cpp - A step on the queues of the simulator -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StepQueues.h"
#include "mf/Program/Description.h"
#include "mf/Program/LocatedError.h"
#include <array>

namespace mf::simulator {

using namespace program;

namespace {

class ListReader {
public:
  ListReader(const StageProgram &stage, size_t number, const StepCosts &costs,
             const InstructionList &list)
      : stage(stage), number(number), costs(costs), list(list),
        lastOfStream(stage.streams.size(), none) {}

  /// `recordedBehind` marks instructions after which a call may record events.
  std::vector<Op> read(const std::vector<bool> &recordedBehind) {
    for (uint32_t i = 0; i < list.instructions.size(); ++i) {
      const Instruction &instruction = list.instructions[i];
      for (const AwaitedEvent &awaited : instruction.awaited) {
        Op &op = add(OpKind::Wait, instruction.stream, i);
        op.operand = awaited.event;
        op.isArgument = awaited.isArgument;
      }
      addWork(instruction, i);
      if (instruction.recorded)
        add(OpKind::Record, instruction.stream, i).operand =
            *instruction.recorded;
      if (i < recordedBehind.size() && recordedBehind[i])
        add(OpKind::CallRecord, stage.computeStream, i);
    }
    return std::move(ops);
  }

private:
  static constexpr size_t none = ~size_t{0};

  Op &add(OpKind kind, uint32_t stream, uint32_t instruction) {
    lastOfStream[stream] = ops.size();
    Op &op = ops.emplace_back();
    op.kind = kind;
    op.stream = stream;
    op.first = op.last = instruction;
    return op;
  }

  void addWork(const Instruction &instruction, uint32_t index) {
    switch (instruction.work) {
    case Work::None:
      return;
    case Work::Kernel:
      return addKernel(instruction, index);
    case Work::Copy:
      add(OpKind::Copy, instruction.stream, index).seconds =
          costs.getCopySeconds(stage.streams[instruction.stream].kind,
                               instruction.accesses.front().operand.bytes);
      return;
    case Work::Exchange:
      add(OpKind::Exchange, instruction.stream, index).operand =
          costs.getTransferNumber(number, list, instruction);
      return;
    case Work::Call:
      add(OpKind::Call, instruction.stream, index).operand = instruction.index;
      return;
    }
  }

  void addKernel(const Instruction &instruction, uint32_t index) {
    const double seconds = costs.getKernelSeconds(instruction.index);
    const size_t before = lastOfStream[instruction.stream];
    if (before != none && ops[before].kind == OpKind::Kernels) {
      ops[before].last = index;
      ops[before].seconds += seconds;
      return;
    }
    add(OpKind::Kernels, instruction.stream, index).seconds = seconds;
  }

  const StageProgram &stage;
  size_t number;
  const StepCosts &costs;
  const InstructionList &list;
  std::vector<Op> ops;
  /// The last operation of each stream.
  std::vector<size_t> lastOfStream;
};

} // namespace

StageOps makeStageOps(const Program &program, size_t number,
                      const StepCosts &costs) {
  const StageProgram &stage = program.stages[number];
  std::vector<std::vector<bool>> recordedBehind(stage.routines.size());
  for (const Call &call : stage.step.calls)
    for (const CallRecord &record : call.records) {
      std::vector<bool> &ofRoutine = recordedBehind[call.routine];
      ofRoutine.resize(stage.routines[call.routine].body.instructions.size());
      ofRoutine[record.instruction] = true;
    }
  auto read = [&](const InstructionList &list,
                  const std::vector<bool> &recorded) {
    return ListReader(stage, number, costs, list).read(recorded);
  };
  StageOps ops;
  ops.step = read(stage.step, {});
  for (size_t i = 0; i < stage.routines.size(); ++i)
    ops.routines.push_back(read(stage.routines[i].body, recordedBehind[i]));
  return ops;
}

using namespace program;

StepQueues::StepQueues(const Program &program, const StepCosts &costs,
                       double tick)
    : program(program), costs(costs), queues(tick),
      groups(program.channels.size()),
      numExchanges(program.stages.size(),
                   std::vector<std::array<uint32_t, 2>>(program.channels.size(),
                                                        {0, 0})) {
  for (size_t stage = 0; stage < program.stages.size(); ++stage) {
    ops.push_back(makeStageOps(program, stage, costs));
    scopes.emplace_back(program.stages[stage]);
    addLinks(stage);
    addDevice(stage);
  }
  for (size_t stage = 0; stage < program.stages.size(); ++stage)
    addStage(stage);
}

void StepQueues::addStage(size_t number) {
  const StageProgram &stage = program.stages[number];
  uint64_t numEvents = stage.step.numEvents;
  for (const Call &call : stage.step.calls)
    numEvents += stage.routines[call.routine].body.numEvents;
  firstEvents.push_back(queues.addEvents(static_cast<int32_t>(numEvents)));
  firstQueues.push_back(queues.getNumQueues());
  for (size_t stream = 0; stream < stage.streams.size(); ++stream)
    queues.addQueue();
  const Call *last = nullptr;
  walk(number, [&](const Emitted &emitted) {
    // Micro-batches repeat the same calls, so a chunk's call may begin a
    // period.
    if (emitted.call && emitted.call != last && emitted.call->frame)
      for (size_t stream = 0; stream < stage.streams.size(); ++stream)
        queues.markPeriod(getQueue(number, static_cast<uint32_t>(stream)));
    last = emitted.call;
    addItem(number, emitted);
  });
}

void StepQueues::addItem(size_t stage, const Emitted &emitted) {
  const events::QueueId queue = getQueue(stage, emitted.stream);
  auto event = [&] {
    return firstEvents[stage] + static_cast<events::EventId>(emitted.event);
  };
  switch (emitted.op->kind) {
  case OpKind::Kernels:
    if (devices[stage] >= 0 &&
        emitted.stream == program.stages[stage].computeStream)
      queues.addWork(queue, emitted.op->seconds, devices[stage]);
    else
      queues.addWork(queue, emitted.op->seconds);
    return;
  case OpKind::Copy:
  case OpKind::Call:
    queues.addWork(queue, emitted.op->seconds);
    return;
  case OpKind::Exchange:
    return addExchange(stage, queue, emitted);
  case OpKind::Wait:
    queues.addWait(queue, event());
    return;
  case OpKind::Record:
  case OpKind::CallRecord:
    queues.addRecord(queue, event());
    return;
  }
}

/// The links of a network are simulated if several streams of a stage use it,
/// so that their transfers may overlap.
void StepQueues::addLinks(size_t stage) {
  constexpr uint32_t noStream = ~0u;
  constexpr events::LinkId noLink = -1;
  std::vector<uint32_t> streamOfNetwork;
  std::vector<bool> isShared;
  auto look = [&](const std::vector<Op> &list) {
    for (const Op &op : list) {
      if (op.kind != OpKind::Exchange)
        continue;
      for (uint32_t network : costs.getTransfer(op.operand).networks) {
        if (streamOfNetwork.size() <= network) {
          streamOfNetwork.resize(network + 1, noStream);
          isShared.resize(network + 1, false);
        }
        if (streamOfNetwork[network] == noStream)
          streamOfNetwork[network] = op.stream;
        if (streamOfNetwork[network] != op.stream)
          isShared[network] = true;
      }
    }
  };
  look(ops[stage].step);
  for (const std::vector<Op> &routine : ops[stage].routines)
    look(routine);
  std::vector<std::array<events::LinkId, 2>> &ofStage = links.emplace_back();
  for (bool shared : isShared)
    ofStage.push_back(shared ? std::array{queues.addLink(), queues.addLink()}
                             : std::array{noLink, noLink});
}

void StepQueues::addDevice(size_t stage) {
  const uint32_t compute = program.stages[stage].computeStream;
  auto slows = [&](const std::vector<Op> &list) {
    return llvm::any_of(list, [&](const Op &op) {
      return op.kind == OpKind::Exchange && op.stream != compute &&
             costs.getTransfer(op.operand).slowsKernels();
    });
  };
  devices.push_back(slows(ops[stage].step) ||
                            llvm::any_of(ops[stage].routines, slows)
                        ? queues.addDevice()
                        : -1);
}

void StepQueues::getLinks(size_t stage, const target::TransferCost &cost,
                          bool isSend,
                          llvm::SmallVectorImpl<events::LinkId> &found) const {
  for (uint32_t network : cost.networks)
    if (network < links[stage].size())
      if (events::LinkId link = links[stage][network][isSend ? 0 : 1];
          link >= 0)
        found.push_back(link);
}

events::GroupId StepQueues::addGroup(size_t stage, events::QueueId queue,
                                     const Channel &channel,
                                     const target::TransferCost &cost) {
  llvm::SmallVector<events::LinkId, 4> used;
  if (!channel.isTransfer || channel.fromStage == channel.toStage) {
    getLinks(stage, cost, true, used);
    getLinks(stage, cost, false, used);
  } else {
    getLinks(channel.fromStage, cost, true, used);
    getLinks(channel.toStage, cost, false, used);
  }
  if (cost.slowsKernels() &&
      queue != getQueue(stage, program.stages[stage].computeStream)) {
    const bool isMessage = channel.isTransfer;
    for (size_t side : {isMessage ? channel.fromStage : stage,
                        isMessage ? channel.toStage : stage})
      if (devices[side] >= 0)
        used.push_back(devices[side]);
  }
  if (used.empty())
    return queues.addGroup(cost.latency + cost.seconds);
  return queues.addTransfer(cost.latency, cost.seconds, used,
                            {cost.hidden, cost.besideKernels});
}

void StepQueues::addExchange(size_t stage, events::QueueId queue,
                             const Emitted &emitted) {
  const Exchange &exchange =
      *emitted.list->getExchange(emitted.list->instructions[emitted.op->first]);
  const Channel &channel = program.channels[exchange.channel];
  const target::TransferCost &cost = costs.getTransfer(emitted.op->operand);
  if (!channel.isTransfer && !channel.group.crossesStages()) {
    // The groups of other ranks do the same at the same time, so one represents
    // them.
    queues.addRendezvous(queue, addGroup(stage, queue, channel, cost));
    return;
  }
  const uint32_t number =
      numExchanges[stage][exchange.channel][exchange.isSend ? 1 : 0]++;
  std::vector<events::GroupId> &ofChannel = groups[exchange.channel];
  if (ofChannel.size() <= number)
    ofChannel.push_back(addGroup(stage, queue, channel, cost));
  queues.addRendezvous(queue, ofChannel[number]);
}

std::vector<double>
StepQueues::getGroupStarts(const events::Timeline &times) const {
  std::vector<double> starts(queues.getNumGroups(), 0);
  for (events::QueueId queue = 0; queue < queues.getNumQueues(); ++queue)
    for (int32_t i = 0; i < queues.getNumItems(queue); ++i)
      if (const events::ItemId item = {queue, i};
          queues.getKind(item) == events::ItemKind::Rendezvous) {
        double &start = starts[queues.getOperand(item)];
        start = std::max(start, times.getStart(item));
      }
  return starts;
}

llvm::Expected<events::Timeline> StepQueues::simulate() const {
  llvm::Expected<events::Timeline> times = events::simulate(
      queues, [&](events::ItemId item) { return describeItem(item); });
  if (times)
    return times;
  return llvm::handleErrors(
      times.takeError(),
      [&](const events::DeadlockError &deadlock) -> llvm::Error {
        std::string text;
        llvm::raw_string_ostream os(text);
        deadlock.log(os);
        return llvm::make_error<LocatedError>(
            getLocation(deadlock.getItems().front()), text);
      });
}

std::pair<size_t, Emitted> StepQueues::find(events::ItemId item) const {
  size_t stage = firstQueues.size() - 1;
  while (firstQueues[stage] > item.queue)
    --stage;
  int32_t index = 0;
  Emitted found;
  walk(stage, [&](const Emitted &emitted) {
    if (getQueue(stage, emitted.stream) == item.queue && index++ == item.index)
      found = emitted;
  });
  return {stage, found};
}

std::string StepQueues::describeItem(events::ItemId item) const {
  const auto [stage, emitted] = find(item);
  return "stage " + std::to_string(stage) + ": " +
         describe(program, program.stages[stage], emitted.position,
                  emitted.call ? emitted.op->first : callItself);
}

uint32_t StepQueues::getLocation(events::ItemId item) const {
  const auto [stage, emitted] = find(item);
  return getInstruction(program.stages[stage], emitted.position,
                        emitted.call ? emitted.op->first : callItself)
      .location;
}

} // namespace mf::simulator
