//===- LocalCommunicator.cpp - Ranks that are threads of one process ------===//

#include "Meeting.h"
#include "RowShare.h"
#include "mf/Runner/Communicator.h"
#include "llvm/ADT/STLExtras.h"
#include <cstring>
#include <map>
#include <mutex>

using namespace mf::program;

namespace mf::runner {

Communicator::~Communicator() = default;

namespace {

class LocalCommunicator : public Communicator {
public:
  LocalCommunicator(Mesh mesh, std::vector<Channel> channels)
      : mesh(std::move(mesh)), channels(std::move(channels)) {}

  llvm::Error send(uint32_t channel, int64_t rank, const std::byte *from,
                   int64_t bytes, WorkTimes *times) override;
  llvm::Error receive(uint32_t channel, int64_t rank, std::byte *to,
                      int64_t bytes, WorkTimes *times) override;
  llvm::Error collective(uint32_t channel, int64_t rank,
                         const Exchange &exchange, const Contribution &own,
                         WorkTimes *times) override;
  void abort() override;

private:
  Meeting &find(uint32_t channel, int64_t rank, bool isSend);
  llvm::Error checkMembers(uint32_t channel, const Exchange &exchange,
                           Meeting &meeting, size_t place);

  const Mesh mesh;
  const std::vector<Channel> channels;
  std::atomic<bool> aborted{false};
  std::mutex mutex;
  /// By channel and members; made when first used.
  std::map<std::pair<uint32_t, std::vector<int64_t>>, std::unique_ptr<Meeting>>
      meetings;
};

} // namespace

Meeting &LocalCommunicator::find(uint32_t channel, int64_t rank, bool isSend) {
  std::pair<uint32_t, std::vector<int64_t>> key{
      channel, channels[channel].getMembers(mesh, rank, isSend)};
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<Meeting> &meeting = meetings[key];
  if (!meeting)
    meeting = std::make_unique<Meeting>(std::move(key.second));
  return *meeting;
}

llvm::Error LocalCommunicator::send(uint32_t channel, int64_t rank,
                                    const std::byte *from, int64_t bytes,
                                    WorkTimes *times) {
  Meeting &meeting = find(channel, rank, /*isSend=*/true);
  std::unique_lock<std::mutex> lock(meeting.mutex);
  meeting.contributions.front().input = from;
  meeting.contributions.front().inputBytes = bytes;
  meeting.numArrived = 1;
  meeting.changed.notify_all();
  if (!meeting.waitForGeneration(lock, aborted))
    return makeAborted(channels[channel]);
  if (times)
    *times = meeting.times;
  return llvm::Error::success();
}

llvm::Error LocalCommunicator::receive(uint32_t channel, int64_t rank,
                                       std::byte *to, int64_t bytes,
                                       WorkTimes *times) {
  Meeting &meeting = find(channel, rank, /*isSend=*/false);
  std::unique_lock<std::mutex> lock(meeting.mutex);
  meeting.changed.wait(
      lock, [&] { return meeting.numArrived == 1 || aborted.load(); });
  if (aborted.load())
    return makeAborted(channels[channel]);
  const Contribution &sent = meeting.contributions.front();
  if (sent.inputBytes != bytes)
    return makeError(channels[channel], ": expected " + llvm::Twine(bytes) +
                                            " bytes, but got " +
                                            llvm::Twine(sent.inputBytes));
  meeting.times.start = std::chrono::steady_clock::now();
  if (bytes > 0)
    std::memcpy(to, sent.input, bytes);
  meeting.times.end = std::chrono::steady_clock::now();
  if (times)
    *times = meeting.times;
  meeting.numArrived = 0;
  ++meeting.generation;
  meeting.changed.notify_all();
  return llvm::Error::success();
}

llvm::Error LocalCommunicator::checkMembers(uint32_t channel,
                                            const Exchange &exchange,
                                            Meeting &meeting, size_t place) {
  const int64_t inputBytes = meeting.contributions[place].inputBytes;
  for (auto [member, other] : llvm::zip(meeting.members, meeting.contributions))
    if (other.inputBytes != inputBytes)
      return makeError(channels[channel],
                       ": expected " + llvm::Twine(inputBytes) +
                           " bytes, but rank " + llvm::Twine(member) + " has " +
                           llvm::Twine(other.inputBytes));
  if (exchange.kind != CollectiveKind::AllToAllV)
    return llvm::Error::success();
  std::vector<RowCounts> counts;
  for (const Contribution &member : meeting.contributions)
    counts.push_back(getCounts(exchange, member, meeting.members.size()));
  return checkRows(channels[channel], exchange, counts, place, meeting.members,
                   meeting.contributions[place], meeting, aborted);
}

llvm::Error LocalCommunicator::collective(uint32_t channel, int64_t rank,
                                          const Exchange &exchange,
                                          const Contribution &own,
                                          WorkTimes *times) {
  Meeting &meeting = find(channel, rank, /*isSend=*/true);
  const size_t place = meeting.getPlace(rank);
  std::unique_lock<std::mutex> lock(meeting.mutex);
  meeting.contributions[place] = own;
  if (!meeting.waitForAll(lock, aborted))
    return makeAborted(channels[channel]);
  if (times)
    times->start = meeting.times.start;
  lock.unlock();
  // Until all have come again, nobody changes the contributions.
  if (llvm::Error error = checkMembers(channel, exchange, meeting, place))
    return error;
  computeShare(exchange, meeting.contributions, place);
  lock.lock();
  if (!meeting.waitForAll(lock, aborted))
    return makeAborted(channels[channel]);
  if (times)
    times->end = meeting.times.start;
  return llvm::Error::success();
}

void LocalCommunicator::abort() {
  aborted.store(true);
  std::lock_guard<std::mutex> lock(mutex);
  for (auto &[key, meeting] : meetings)
    meeting->release();
}

std::unique_ptr<Communicator>
makeLocalCommunicator(Mesh mesh, std::vector<Channel> channels) {
  return std::make_unique<LocalCommunicator>(std::move(mesh),
                                             std::move(channels));
}

} // namespace mf::runner
