//===- LocalCommunicator.cpp - Ranks that are threads of one process ------===//
// SPDX-License-Identifier: Apache-2.0

#include "GroupBarrier.h"
#include "mf/Exec/Runner/Communicator.h"
#include "llvm/ADT/STLExtras.h"
#include <cstring>
#include <mutex>

using namespace mf::program;
using namespace mf::ranks;

namespace mf::runner {

Communicator::~Communicator() = default;

namespace {

class LocalCommunicator : public Communicator {
public:
  LocalCommunicator(Mesh mesh, std::vector<Channel> channels)
      : mesh(std::move(mesh)), channels(std::move(channels)) {}

  llvm::Error send(uint32_t channel, int64_t rank, const std::byte *from,
                   int64_t bytes, WorkTimes *times) override {
    GroupBarrier &barrier = find(channel, rank, /*isSend=*/true);
    std::unique_lock<std::mutex> lock(barrier.mutex);
    barrier.contributions.front().input = from;
    barrier.contributions.front().inputBytes = bytes;
    barrier.numArrived = 1;
    barrier.changed.notify_all();
    if (!barrier.waitForGeneration(lock, aborted))
      return makeAborted(channels[channel]);
    if (times)
      *times = barrier.times;
    return llvm::Error::success();
  }
  llvm::Error receive(uint32_t channel, int64_t rank, std::byte *to,
                      int64_t bytes, WorkTimes *times) override {
    GroupBarrier &barrier = find(channel, rank, /*isSend=*/false);
    std::unique_lock<std::mutex> lock(barrier.mutex);
    barrier.waitUntil(
        lock, [&] { return barrier.numArrived == 1 || aborted.load(); });
    if (aborted.load())
      return makeAborted(channels[channel]);
    const Contribution &sent = barrier.contributions.front();
    if (sent.inputBytes != bytes)
      return makeError(channels[channel], ": expected " + llvm::Twine(bytes) +
                                              " bytes, but got " +
                                              llvm::Twine(sent.inputBytes));
    barrier.times.start = std::chrono::steady_clock::now();
    if (bytes > 0)
      std::memcpy(to, sent.input, bytes);
    barrier.times.end = std::chrono::steady_clock::now();
    if (times)
      *times = barrier.times;
    barrier.numArrived = 0;
    ++barrier.generation;
    barrier.changed.notify_all();
    return llvm::Error::success();
  }
  llvm::Error collective(uint32_t channel, int64_t rank,
                         const Exchange &exchange, const Contribution &own,
                         WorkTimes *times) override {
    GroupBarrier &barrier = find(channel, rank, /*isSend=*/true);
    const size_t place = barrier.getPlace(rank);
    std::unique_lock<std::mutex> lock(barrier.mutex);
    barrier.contributions[place] = own;
    if (!barrier.waitForAll(lock, aborted))
      return makeAborted(channels[channel]);
    if (times)
      times->start = barrier.times.start;
    lock.unlock();
    // The contributions do not change until all members have arrived again.
    if (llvm::Error error = checkMembers(channel, exchange, barrier, place))
      return error;
    computeShare(exchange, barrier.contributions, place);
    lock.lock();
    if (!barrier.waitForAll(lock, aborted))
      return makeAborted(channels[channel]);
    if (times)
      times->end = barrier.times.start;
    return llvm::Error::success();
  }
  void abort() override {
    aborted.store(true);
    barriers.forEach([](GroupBarrier &barrier) { barrier.release(); });
  }

private:
  GroupBarrier &find(uint32_t channel, int64_t rank, bool isSend) {
    return barriers.find(
        channel, channels[channel].getMembers(mesh, rank, isSend),
        [](std::vector<int64_t> members) {
          return std::make_unique<GroupBarrier>(std::move(members));
        });
  }

  llvm::Error checkMembers(uint32_t channel, const Exchange &exchange,
                           GroupBarrier &barrier, size_t place) {
    if (llvm::Error error =
            barrier.checkSizes(channels[channel], barrier.contributions[place]))
      return error;
    if (exchange.kind != CollectiveKind::AllToAllV)
      return llvm::Error::success();
    std::vector<RowCounts> counts;
    for (const Contribution &member : barrier.contributions)
      counts.push_back(getCounts(exchange, member, barrier.members.size()));
    return barrier.checkRows(channels[channel], exchange, counts, place,
                             barrier.members, barrier.contributions[place],
                             aborted);
  }

  const Mesh mesh;
  const std::vector<Channel> channels;
  std::atomic<bool> aborted{false};
  ChannelGroups<GroupBarrier> barriers;
};

} // namespace

std::unique_ptr<Communicator>
makeLocalCommunicator(Mesh mesh, std::vector<Channel> channels) {
  return std::make_unique<LocalCommunicator>(std::move(mesh),
                                             std::move(channels));
}

} // namespace mf::runner
