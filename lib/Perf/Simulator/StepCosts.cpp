//===- StepCosts.cpp - Costs of a program's instructions ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StepCosts.h"
#include "mf/Perf/Target/KernelCost.h"
#include "mf/Program/LocatedError.h"

using llvm::Error;
using llvm::Expected;

namespace mf::simulator {

using namespace program;

/// Returns the smaller and the larger of the sizes of input and output of an
/// exchange of rows. The smaller is that of a rank's own rows, and the larger
/// that of the room for rows from others.
static std::pair<int64_t, int64_t> getRowBytes(const Instruction &instruction) {
  return std::minmax(instruction.accesses.front().operand.bytes,
                     instruction.accesses.back().operand.bytes);
}

/// Returns the fraction of the rows for which ranks have room that are filled
/// if experts are chosen evenly.
static double getFilledRows(const Program &program) {
  double share = 1;
  for (const StageProgram &stage : program.stages)
    for (const Routine &routine : stage.routines)
      for (const Instruction &instruction : routine.body.instructions) {
        if (instruction.work != Work::Exchange ||
            routine.body.getExchange(instruction)->kind !=
                CollectiveKind::AllToAllV)
          continue;
        const auto [own, room] = getRowBytes(instruction);
        if (room > 0)
          share = std::min(share, static_cast<double>(own) /
                                      static_cast<double>(room));
      }
  return share;
}

int64_t getTransferBytes(const InstructionList &list,
                         const Instruction &instruction) {
  const Exchange &exchange = *list.getExchange(instruction);
  if (exchange.kind == CollectiveKind::AllToAllV)
    return getRowBytes(instruction).first;
  int64_t bytes = 0;
  for (const MemoryAccess &access : instruction.accesses)
    bytes = std::max(bytes, access.operand.bytes);
  return bytes;
}

StepCosts::TransferKey StepCosts::makeKey(size_t stage,
                                          const InstructionList &list,
                                          const Instruction &instruction) {
  const Exchange &exchange = *list.getExchange(instruction);
  return {stage, exchange.channel, exchange.kind,
          getTransferBytes(list, instruction)};
}

uint32_t StepCosts::getTransferNumber(size_t stage, const InstructionList &list,
                                      const Instruction &instruction) const {
  return transferNumbers.at(makeKey(stage, list, instruction));
}

void StepCosts::collectTransfers(const Program &program) {
  for (size_t number = 0; number < program.stages.size(); ++number) {
    const StageProgram &stage = program.stages[number];
    auto addList = [&](const InstructionList &list) {
      for (const Instruction &instruction : list.instructions)
        if (instruction.work == Work::Exchange)
          transferNumbers.try_emplace(
              makeKey(number, list, instruction),
              static_cast<uint32_t>(transferNumbers.size()));
    };
    addList(stage.step);
    for (const Routine &routine : stage.routines)
      addList(routine.body);
  }
  transfers.resize(transferNumbers.size());
  slowestGroups.resize(transferNumbers.size());
}

Error StepCosts::updateKernels(const Program &program,
                               const target::Target &target) {
  compilation.graphKernelFusion = program.graphKernelFusion;
  compilation.filledRows = getFilledRows(program) * expertLoad;
  kernels.clear();
  for (const LaunchedKernel &kernel : program.kernels) {
    Expected<target::KernelCost> cost = target::getKernelCost(
        target, *kernel.signature, kernel.spec, compilation);
    if (!cost)
      return llvm::make_error<LocatedError>(kernel.location,
                                            llvm::toString(cost.takeError()));
    kernels.push_back(cost->seconds);
  }
  return Error::success();
}

target::TransferCost
StepCosts::computeCost(const TransferKey &key, const Channel &channel,
                       llvm::ArrayRef<int64_t> members,
                       const target::Topology &topology) const {
  const auto rowBytes =
      static_cast<int64_t>(static_cast<double>(key.bytes) * expertLoad);
  if (key.kind == CollectiveKind::AllToAllV && !channel.isTransfer)
    return topology.getCollective(key.kind, rowBytes, members);
  return channel.isTransfer
             ? topology.getMessage(key.bytes, members.front(), members.back())
             : topology.getCollective(key.kind, key.bytes, members);
}

/// Returns the groups of a stage's ranks, or pairs of them, that use a channel.
static std::vector<std::vector<int64_t>>
findGroups(const Program &program, size_t stage, const Channel &channel) {
  const int64_t ranks = program.mesh.getRanksPerStage();
  const int64_t first = static_cast<int64_t>(stage) * ranks;
  std::vector<std::vector<int64_t>> groups;
  std::vector<bool> isInGroup(ranks, false);
  for (int64_t rank = first; rank < first + ranks; ++rank) {
    if (isInGroup[rank - first])
      continue;
    std::vector<int64_t> members = channel.getMembers(program.mesh, rank);
    if (!channel.isTransfer)
      for (int64_t member : members)
        if (program.mesh.getStage(member) == static_cast<int64_t>(stage))
          isInGroup[member - first] = true;
    groups.push_back(std::move(members));
  }
  return groups;
}

/// Ranks run the same program concurrently, so all wait for the slowest group.
void StepCosts::findSlowestGroups(const Program &program,
                                  const target::Topology &topology) {
  std::map<std::pair<size_t, uint32_t>, std::vector<std::vector<int64_t>>>
      groups;
  for (const auto &[key, number] : transferNumbers) {
    const Channel &channel = program.channels[key.channel];
    auto [found, isNew] = groups.try_emplace({key.stage, key.channel});
    if (isNew)
      found->second = findGroups(program, key.stage, channel);
    double slowest = -1;
    for (const std::vector<int64_t> &members : found->second) {
      const target::TransferCost cost =
          computeCost(key, channel, members, topology);
      if (cost.latency + cost.seconds <= slowest)
        continue;
      slowest = cost.latency + cost.seconds;
      slowestGroups[number] = members;
    }
  }
}

void StepCosts::updateTransfers(const Program &program,
                                const target::Topology &topology) {
  for (const auto &[key, number] : transferNumbers)
    transfers[number] = computeCost(key, program.channels[key.channel],
                                    slowestGroups[number], topology);
}

double StepCosts::getCopySeconds(StreamKind stream, int64_t bytes) const {
  if (!copiesTakeTime)
    return 0;
  const auto size = static_cast<double>(bytes);
  switch (stream) {
  case StreamKind::HostToDevice:
    return host.latency + size / host.toDeviceBytesPerSecond;
  case StreamKind::DeviceToHost:
    return host.latency + size / host.toHostBytesPerSecond;
  case StreamKind::Compute:
  case StreamKind::Communication:
    // Within the device: read and written.
    return 2 * size / memoryBytesPerSecond;
  }
  llvm_unreachable("covers all kinds");
}

Error StepCosts::update(const Program &program, const target::Target &target) {
  Expected<target::Topology> topology =
      target::Topology::create(target, program.getNumRanks());
  if (!topology)
    return topology.takeError();
  host = target.host;
  memoryBytesPerSecond = target.memory.bytesPerSecond;
  if (!transfers.empty() && slowestGroups.front().empty())
    findSlowestGroups(program, *topology);
  updateTransfers(program, *topology);
  return updateKernels(program, target);
}

Expected<StepCosts> StepCosts::create(const Program &program,
                                      const target::Target &target,
                                      double expertLoad) {
  StepCosts costs;
  costs.expertLoad = expertLoad;
  costs.collectTransfers(program);
  if (Error error = costs.update(program, target))
    return error;
  return costs;
}

StepCosts StepCosts::createOfFlops(const Program &program, double flopsPerUnit,
                                   double messageTime) {
  StepCosts costs;
  costs.copiesTakeTime = false;
  for (const LaunchedKernel &kernel : program.kernels)
    costs.kernels.push_back(static_cast<double>(kernel.flops) / flopsPerUnit);
  costs.collectTransfers(program);
  for (const auto &[key, number] : costs.transferNumbers) {
    const Channel &channel = program.channels[key.channel];
    if (channel.isTransfer && channel.fromStage != channel.toStage)
      costs.transfers[number].seconds = messageTime;
  }
  return costs;
}

} // namespace mf::simulator
