//===- RankExecutor.cpp - One rank and its device -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "RankExecutor.h"
#include "llvm/ADT/STLExtras.h"

using namespace mf::program;

namespace mf::runner {

llvm::Expected<std::unique_ptr<RankExecutor>> RankExecutor::create(
    int64_t rank, const PreparedStage &prepared, Communicator &communicator,
    std::shared_ptr<ThreadTeam> threads, const RunnerOptions &options) {
  const StageProgram &stage = *prepared.stage;
  Device::Options deviceOptions;
  deviceOptions.hbmBytes = stage.arenaBytes;
  deviceOptions.hostBytes = stage.hostBytes;
  deviceOptions.poison = options.debugMemory;
  deviceOptions.guard = options.debugMemory;
  deviceOptions.deviceToHostRate = options.deviceToHostRate;
  deviceOptions.hostToDeviceRate = options.hostToDeviceRate;
  deviceOptions.faults = options.faults;
  deviceOptions.name = "rank " + std::to_string(rank);
  auto device = Device::create(deviceOptions);
  if (!device)
    return device.takeError();
  std::unique_ptr<RankExecutor> executor(
      new RankExecutor(rank, prepared, communicator, std::move(threads)));
  executor->device = std::move(*device);
  for (const program::ProgramStream &stream : stage.streams)
    executor->streams.push_back(&executor->device->createStream(stream.name));
  Arena &hbm = executor->device->getHbm(), &host = executor->device->getHost();
  executor->stepBases = std::make_shared<BaseTable>(
      prepared.stepBases, hbm.getBase(), host.getBase());
  if (options.dump) {
    auto dump = OperatorDump::create(*prepared.program, stage, *options.dump);
    if (!dump)
      return dump.takeError();
    executor->operatorDump = std::move(*dump);
  }
  hbm.poison(0, stage.arenaBytes);
  host.poison(0, stage.hostBytes);
  return executor;
}

llvm::MutableArrayRef<uint8_t> RankExecutor::getStatic(uint32_t number) const {
  const Static &buffer = getStage().statics[number];
  Arena &arena =
      buffer.space == Space::Device ? device->getHbm() : device->getHost();
  if (prepared.poison)
    arena.touch(buffer.offset, buffer.bytes);
  return {reinterpret_cast<uint8_t *>(arena.getBase()) + buffer.offset,
          static_cast<size_t>(buffer.bytes)};
}

//===----------------------------------------------------------------------===//
// Issuing
//===----------------------------------------------------------------------===//

llvm::Error RankExecutor::runStep() {
  forgetEvents();
  issueStep(0, prepared.step.items.size());
  return device->synchronize();
}

llvm::Error RankExecutor::runUntilUpdate() {
  forgetEvents();
  issueStep(0, prepared.updateItem);
  return device->synchronize();
}

llvm::Error RankExecutor::runFromUpdate() {
  issueStep(prepared.updateItem, prepared.step.items.size());
  return device->synchronize();
}

void RankExecutor::forgetEvents() {
  stepEvents.clear();
  stepEvents.resize(prepared.step.numEvents);
}

void RankExecutor::issueStep(size_t begin, size_t end) {
  IssueContext context;
  context.list = &prepared.step;
  context.bases = stepBases;
  context.events = &stepEvents;
  for (size_t i = begin; i < end; ++i)
    issueItem(context, prepared.step.items[i]);
}

void RankExecutor::issueCall(const Call &call, uint32_t position,
                             std::shared_ptr<const BaseTable> bases) {
  const IssueList &list = prepared.routines[call.routine];
  std::deque<Event> events(list.numEvents);
  IssueContext context;
  context.list = &list;
  context.bases = std::move(bases);
  context.events = &events;
  context.position = position;
  context.call = &call;
  auto record = call.records.begin();
  for (const IssueItem &item : list.items) {
    issueItem(context, item);
    // Items end where calls record.
    for (; record != call.records.end() && record->instruction < item.end;
         ++record)
      streams[record->record.stream]->record(
          stepEvents[*record->record.recorded]);
  }
}

void RankExecutor::issueItem(const IssueContext &context,
                             const IssueItem &item) {
  Stream &stream = *streams[item.stream];
  for (auto [place, awaited] : llvm::enumerate(item.awaited)) {
    const Event &event = awaited.isArgument
                             ? stepEvents[context.call->events[awaited.event]]
                             : (*context.events)[awaited.event];
    stream.wait(event, stalls.find(context.list->routine, item.begin, place));
  }
  if (item.work)
    item.work->issue(*this, context, item);
  if (item.recorded)
    stream.record((*context.events)[*item.recorded]);
}

//===----------------------------------------------------------------------===//
// Memory debugging and measurements
//===----------------------------------------------------------------------===//

void RankExecutor::touch(const BaseTable &bases,
                         const OperandAddress &operand) const {
  if (!prepared.poison)
    return;
  const std::byte *address = bases.getAddress(operand);
  for (Arena *arena : {&device->getHbm(), &device->getHost()})
    if (arena->contains(address, operand.bytes))
      arena->touch(address - arena->getBase(), operand.bytes);
}

void RankExecutor::poisonAfter(const IssueContext &context,
                               uint32_t instruction) const {
  if (!prepared.poison || !context.call)
    return;
  for (const PoisonPlan::Range &range :
       prepared.poison->getRanges(context.position, instruction))
    device->getHbm().poison(range.offset, range.bytes);
}

RecordedWork *RankExecutor::add(const IssueContext &context,
                                const IssueItem &item, uint32_t instruction) {
  if (context.call)
    return recorder->add(item.stream, context.position, instruction);
  return recorder->add(item.stream, instruction, std::nullopt);
}

RankRecord RankExecutor::takeRecord() {
  RankRecord record{rank, recorder->take()};
  recorder.reset();
  return record;
}

std::vector<StreamUse> RankExecutor::getStreamUse() const {
  std::vector<StreamUse> uses;
  uses.reserve(streams.size());
  for (const Stream *stream : streams)
    uses.push_back({stream->getName().str(), stream->getStatistics()});
  return uses;
}

} // namespace mf::runner
