//===- RankExecutor.cpp - One rank and its device -------------------------===//

#include "RankExecutor.h"
#include "mf/Signatures/KernelSignature.h"
#include "llvm/Support/MathExtras.h"

using namespace mf::program;

namespace mf::runner {

llvm::Expected<std::unique_ptr<RankExecutor>>
RankExecutor::create(const Program &program, size_t rankNumber,
                     llvm::ArrayRef<std::unique_ptr<Kernel>> kernels,
                     Communicator &communicator, int threads,
                     const RunnerOptions &options) {
  const Rank &rank = program.ranks[rankNumber];
  Device::Options deviceOptions;
  deviceOptions.hbmBytes = rank.arenaBytes;
  deviceOptions.hostBytes = rank.hostBytes;
  deviceOptions.poison = options.debugMemory;
  deviceOptions.guard = options.debugMemory;
  deviceOptions.deviceToHostRate = options.deviceToHostRate;
  deviceOptions.hostToDeviceRate = options.hostToDeviceRate;
  auto device = Device::create(deviceOptions);
  if (!device)
    return device.takeError();
  std::unique_ptr<RankExecutor> executor(
      new RankExecutor(rank, rankNumber, communicator, threads));
  executor->device = std::move(*device);
  for (const program::Stream &stream : rank.streams)
    executor->streams.push_back(&executor->device->createStream(stream.name));
  executor->makePlans(kernels);
  executor->makeWorkspace(program);
  if (options.debugMemory) {
    executor->poison = std::make_unique<PoisonPlan>(program, rank);
    executor->device->getHbm().poison(0, rank.arenaBytes);
    executor->device->getHost().poison(0, rank.hostBytes);
  }
  return executor;
}

void RankExecutor::makePlans(llvm::ArrayRef<std::unique_ptr<Kernel>> kernels) {
  for (const Routine &routine : rank.routines)
    routinePlans.push_back(planList(routine.body, kernels));
  stepPlan = planList(rank.step, kernels);
  stepBases = std::make_shared<BaseTable>();
  stepBases->bases = {device->getHbm().getBase(), device->getHost().getBase(),
                      nullptr, nullptr, nullptr};
  updateAction = stepPlan.actions.size();
  if (std::optional<uint32_t> update = findUpdate(rank))
    for (size_t i = 0; i < stepPlan.actions.size(); ++i)
      if (stepPlan.actions[i].instruction == *update)
        updateAction = i;
}

void RankExecutor::makeWorkspace(const Program &program) {
  int64_t bytes = 0;
  for (const KernelSpec &kernel : program.kernels)
    bytes = std::max(
        bytes, findKernelSignature(kernel.name)->getWorkspaceBytes(kernel));
  workspace.resize(llvm::divideCeil(bytes, sizeof(uint64_t)));
}

llvm::MutableArrayRef<uint8_t> RankExecutor::getStatic(uint32_t number) const {
  const Static &buffer = rank.statics[number];
  Arena &arena =
      buffer.space == Space::Device ? device->getHbm() : device->getHost();
  if (poison)
    arena.touch(buffer.offset, buffer.bytes);
  return {reinterpret_cast<uint8_t *>(arena.getBase()) + buffer.offset,
          static_cast<size_t>(buffer.bytes)};
}

llvm::Error RankExecutor::runStep() {
  stepEvents.clear();
  stepEvents.resize(stepPlan.numEvents);
  issue({&stepPlan, stepBases, &stepEvents}, 0, stepPlan.actions.size());
  return device->synchronize();
}

llvm::Error RankExecutor::runUntilUpdate() {
  stepEvents.clear();
  stepEvents.resize(stepPlan.numEvents);
  issue({&stepPlan, stepBases, &stepEvents}, 0, updateAction);
  return device->synchronize();
}

llvm::Error RankExecutor::runFromUpdate() {
  issue({&stepPlan, stepBases, &stepEvents}, updateAction,
        stepPlan.actions.size());
  return device->synchronize();
}

void RankExecutor::issue(const Frame &frame, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    const PlannedAction &action = frame.plan->actions[i];
    std::visit([&](const auto &what) { issueAction(frame, action, what); },
               action.what);
  }
}

/// Cuts the launches where the call records an event.
void RankExecutor::issueAction(const Frame &frame, const PlannedAction &,
                               LaunchRange range) {
  const std::vector<PlannedLaunch> &launches = frame.plan->launches;
  if (frame.call)
    for (const CallRecord &record : frame.call->records) {
      uint32_t end = range.begin;
      while (end < range.end && launches[end].instruction < record.instruction)
        ++end;
      if (end == range.end || launches[end].instruction != record.instruction)
        continue;
      issueLaunches(frame, {range.begin, end + 1});
      range.begin = end + 1;
      streams[rank.computeStream]->record(stepEvents[record.record.event]);
    }
  if (range.begin < range.end)
    issueLaunches(frame, range);
}

void RankExecutor::issueLaunches(const Frame &frame, LaunchRange range) {
  Frame captured = frame;
  // Events are of use to the issuing thread only.
  captured.events = nullptr;
  streams[rank.computeStream]->launch(
      [this, captured = std::move(captured), range] {
        runLaunches(captured, range);
      });
}

void RankExecutor::issueAction(const Frame &frame, const PlannedAction &action,
                               const PlannedCall &planned) {
  const Call &call = *planned.call;
  auto bases = std::make_shared<BaseTable>();
  bases->bases = {stepBases->bases[0], stepBases->bases[1], nullptr, nullptr,
                  nullptr};
  std::byte *arena = device->getHbm().getBase();
  if (call.frame) {
    const program::Frame &memory = rank.frames[*call.frame];
    bases->bases[static_cast<size_t>(Base::Frame)] = arena + memory.offset;
    bases->bases[static_cast<size_t>(Base::HostFrame)] =
        device->getHost().getBase() + memory.hostOffset;
  }
  if (call.scratchOffset)
    bases->bases[static_cast<size_t>(Base::Scratch)] =
        arena + *call.scratchOffset;
  for (const PlannedOperand &argument : planned.arguments)
    bases->bases.push_back(
        static_cast<std::byte *>(frame.bases->getAddress(argument)));
  const ListPlan &plan = routinePlans[call.routine];
  std::deque<Event> events(plan.numEvents);
  issue({&plan, std::move(bases), &events, action.instruction, &call}, 0,
        plan.actions.size());
}

void RankExecutor::issueAction(const Frame &frame, const PlannedAction &,
                               const Record &record) {
  streams[record.stream]->record((*frame.events)[record.event]);
}

void RankExecutor::issueAction(const Frame &frame, const PlannedAction &action,
                               const Wait &wait) {
  const std::optional<uint32_t> routine =
      frame.call ? std::optional(frame.call->routine) : std::nullopt;
  const Event &event = wait.isArgument
                           ? stepEvents[frame.call->events[wait.event]]
                           : (*frame.events)[wait.event];
  streams[wait.stream]->wait(event, stalls.find(routine, action.instruction));
}

void RankExecutor::issueAction(const Frame &frame, const PlannedAction &,
                               const PlannedCopy &copy) {
  touch(*frame.bases, copy.source);
  touch(*frame.bases, copy.target);
  const CopyKind kind = copy.fromHost ? CopyKind::HostToDevice
                        : copy.toHost ? CopyKind::DeviceToHost
                                      : CopyKind::DeviceToDevice;
  streams[copy.stream]->memcpyAsync(frame.bases->getAddress(copy.target),
                                    frame.bases->getAddress(copy.source),
                                    copy.source.bytes, kind);
}

void RankExecutor::issueAction(const Frame &frame, const PlannedAction &,
                               const PlannedTransfer &transfer) {
  touch(*frame.bases, transfer.buffer);
  auto *address =
      static_cast<std::byte *>(frame.bases->getAddress(transfer.buffer));
  streams[transfer.stream]->launch(
      [this, address, bytes = transfer.buffer.bytes, channel = transfer.channel,
       isSend = transfer.isSend]() -> llvm::Error {
        return isSend ? communicator.send(channel, address, bytes)
                      : communicator.receive(channel, address, bytes);
      });
}

void RankExecutor::issueAction(const Frame &frame, const PlannedAction &,
                               const PlannedReduction &reduction) {
  touch(*frame.bases, reduction.buffer);
  auto *address =
      static_cast<std::byte *>(frame.bases->getAddress(reduction.buffer));
  streams[reduction.stream]->launch([this, address,
                                     bytes = reduction.buffer.bytes,
                                     channel = reduction.channel,
                                     type = reduction.type]() -> llvm::Error {
    return communicator.allReduce(channel, rankNumber, address, bytes, type);
  });
}

void RankExecutor::runLaunches(const Frame &frame, LaunchRange range) {
  llvm::SmallVector<void *, 16> addresses;
  for (uint32_t i = range.begin; i < range.end && !device->hasFailed(); ++i) {
    const PlannedLaunch &launch = frame.plan->launches[i];
    const llvm::ArrayRef<PlannedOperand> operands =
        llvm::ArrayRef(frame.plan->operands)
            .slice(launch.firstOperand, launch.numInputs + launch.numOutputs);
    addresses.clear();
    for (const PlannedOperand &operand : operands) {
      addresses.push_back(frame.bases->getAddress(operand));
      touch(*frame.bases, operand);
    }
    llvm::ArrayRef<void *> all = addresses;
    launch.kernel->run({all.take_front(launch.numInputs),
                        all.drop_front(launch.numInputs), workspace.data()},
                       pool);
    poisonAfter(frame, launch.instruction);
  }
}

void RankExecutor::touch(const BaseTable &bases,
                         const PlannedOperand &operand) const {
  if (!poison)
    return;
  const auto *address =
      static_cast<const std::byte *>(bases.getAddress(operand));
  for (Arena *arena : {&device->getHbm(), &device->getHost()})
    if (arena->contains(address, operand.bytes))
      arena->touch(address - arena->getBase(), operand.bytes);
}

void RankExecutor::poisonAfter(const Frame &frame, uint32_t instruction) const {
  if (!poison)
    return;
  llvm::ArrayRef<PoisonPlan::Range> ranges =
      frame.call ? poison->getRanges(frame.position, instruction)
                 : poison->getRanges(instruction, 0);
  for (const PoisonPlan::Range &range : ranges)
    device->getHbm().poison(range.offset, range.bytes);
}

std::vector<StreamUse> RankExecutor::getStreamUse() const {
  std::vector<StreamUse> uses;
  uses.reserve(streams.size());
  for (const Stream *stream : streams)
    uses.push_back({stream->getName().str(), stream->getStatistics()});
  return uses;
}

} // namespace mf::runner
