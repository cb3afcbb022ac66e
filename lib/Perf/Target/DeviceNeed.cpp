//===- DeviceNeed.cpp - What a device needs beside live tensors -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/Target/DeviceNeed.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cstdlib>
#include <set>

namespace mf::target {

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

/// Rounds up to a multiple of `unit`, if there is one.
static int64_t roundUp(int64_t bytes, int64_t unit) {
  return unit > 0 ? (bytes + unit - 1) / unit * unit : bytes;
}

ByteSpan getPoolBytes(const Memory &memory, int64_t liveBytes) {
  return {roundUp(liveBytes + memory.poolLeastBytes, memory.pageBytes),
          roundUp(liveBytes + memory.poolMostBytes, memory.pageBytes)};
}

int64_t getCommunicatorBytes(const Memory &memory,
                             const CommunicatorBuffers &communicators) {
  // Sums with it do not overflow.
  constexpr uint64_t most = uint64_t(1) << 60;
  const uint64_t buffers = llvm::SaturatingMultiply<uint64_t>(
      communicators.count, memory.communicatorBuffers);
  return static_cast<int64_t>(std::min(
      llvm::SaturatingMultiply<uint64_t>(buffers, communicators.bufferBytes),
      most));
}

DeviceNeed getDeviceNeed(const Memory &memory, int64_t liveBytes,
                         const CommunicatorBuffers &communicators) {
  DeviceNeed need;
  need.pool = getPoolBytes(memory, liveBytes);
  need.communicators = getCommunicatorBytes(memory, communicators);
  need.runtime = {memory.runtimeLeastBytes, memory.runtimeMostBytes};
  need.idle = memory.idleBytes;
  return need;
}

int64_t getLargestPool(const Memory &memory,
                       const CommunicatorBuffers &communicators) {
  if (memory.deviceBytes == 0)
    return 0;
  const int64_t rest = memory.deviceBytes - memory.idleBytes -
                       memory.runtimeLeastBytes -
                       getCommunicatorBytes(memory, communicators);
  return std::clamp<int64_t>(rest, 0, memory.bytes);
}

//===----------------------------------------------------------------------===//
// Communicators
//===----------------------------------------------------------------------===//

/// Adds the ranks with which `rank` exchanges in a list of instructions.
static void addGroups(const program::Program &program,
                      const program::InstructionList &list, int64_t rank,
                      std::set<std::vector<int64_t>> &groups) {
  for (const program::Exchange &exchange : list.exchanges) {
    const program::Channel &channel = program.channels[exchange.channel];
    program::Group group = channel.group;
    if (channel.isTransfer)
      group.axes = {channel.fromStage != channel.toStage
                        ? program::stageAxis.str()
                        : channel.axis};
    std::vector<int64_t> members = program.mesh.getMembers(group, rank);
    llvm::sort(members);
    if (members.size() > 1)
      groups.insert(std::move(members));
  }
}

int64_t countCommunicators(const program::Program &program, int64_t stage) {
  const int64_t rank = stage * program.mesh.getRanksPerStage();
  const program::StageProgram &code = program.stages[stage];
  std::set<std::vector<int64_t>> groups;
  addGroups(program, code.step, rank, groups);
  for (const program::Routine &routine : code.routines)
    addGroups(program, routine.body, rank, groups);
  return static_cast<int64_t>(groups.size());
}

llvm::Expected<int64_t> readBufferBytes() {
  constexpr int64_t usual = 200, most = int64_t(1) << 20;
  const char *text = std::getenv("HCCL_BUFFSIZE");
  int64_t size = usual;
  if (text &&
      (llvm::StringRef(text).getAsInteger(10, size) || size < 1 || size > most))
    return llvm::createStringError(
        "expected a whole number of MB from 1 to %lld for HCCL_BUFFSIZE in the "
        "environment, but got '%s'",
        static_cast<long long>(most), text);
  return size << 20;
}

} // namespace mf::target
