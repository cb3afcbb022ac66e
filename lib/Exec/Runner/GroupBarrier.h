//===- GroupBarrier.h - Barrier of the threads of a group -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_RUNNER_GROUPBARRIER_H
#define MF_LIB_EXEC_RUNNER_GROUPBARRIER_H

#include "mf/Exec/Device/TurnSchedule.h"
#include "mf/Exec/Ranks/CollectiveShare.h"
#include "mf/Exec/Runner/Communicator.h"
#include "mf/Program/Program.h"
#include "llvm/ADT/STLExtras.h"
#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>

namespace mf::runner {

inline llvm::Error makeError(const program::Channel &channel,
                             const llvm::Twine &what) {
  return llvm::createStringError("channel '" + channel.name + "'" + what);
}

inline llvm::Error makeAborted(const program::Channel &channel) {
  return makeError(channel, " is closed because a rank failed");
}

/// The ranks of one group on a channel that are threads of this process.
struct GroupBarrier {
  explicit GroupBarrier(std::vector<int64_t> members)
      : members(std::move(members)), contributions(this->members.size()) {}

  const std::vector<int64_t> members;
  std::mutex mutex;
  std::condition_variable changed;
  /// For a transfer, the first contribution is the sent one.
  std::vector<Contribution> contributions;
  size_t numArrived = 0;
  /// The number of times that all have arrived, or of messages that were
  /// received.
  uint64_t generation = 0;
  /// The times of the last exchange. They stay until all arrive again, so that
  /// each thread can still read them.
  WorkTimes times;

  size_t getPlace(int64_t rank) const {
    return llvm::find(members, rank) - members.begin();
  }

  /// Waits for `isReady`, in the turns of a schedule if the thread obeys one.
  void waitUntil(std::unique_lock<std::mutex> &lock,
                 llvm::function_ref<bool()> isReady) {
    TurnSchedule *turns = TurnSchedule::getOfThread();
    if (!turns)
      return changed.wait(lock, isReady);
    lock.unlock();
    turns->waitUntil(isReady);
    lock.lock();
  }

  /// Waits until all have arrived, or the next message is received. Returns
  /// false if `aborted` released the ranks before.
  bool waitForAll(std::unique_lock<std::mutex> &lock,
                  const std::atomic<bool> &aborted) {
    if (aborted.load())
      return false;
    if (++numArrived < members.size())
      return waitForGeneration(lock, aborted);
    numArrived = 0;
    ++generation;
    times.start = std::chrono::steady_clock::now();
    changed.notify_all();
    return true;
  }
  bool waitForGeneration(std::unique_lock<std::mutex> &lock,
                         const std::atomic<bool> &aborted) {
    const uint64_t before = generation;
    waitUntil(lock, [&] { return generation != before || aborted.load(); });
    return generation != before;
  }

  /// Waits for the member that reports why the run ends.
  void waitForAbort(const std::atomic<bool> &aborted) {
    std::unique_lock<std::mutex> lock(mutex);
    waitUntil(lock, [&] { return aborted.load(); });
  }

  /// Fails if a member's input does not have the size of `own`.
  llvm::Error checkSizes(const program::Channel &channel,
                         const Contribution &own) const {
    for (auto [rank, other] : llvm::zip_equal(members, contributions))
      if (other.inputBytes != own.inputBytes)
        return makeError(channel, ": expected " + llvm::Twine(own.inputBytes) +
                                      " bytes, but rank " + llvm::Twine(rank) +
                                      " has " + llvm::Twine(other.inputBytes));
    return llvm::Error::success();
  }

  /// Checks the counts of all members of an all_to_all_v, which messages name
  /// by `ranks`. If they are invalid, the member that the error is about fails,
  /// if it is the one at `place`. Any other member waits until the run is
  /// aborted.
  llvm::Error checkRows(const program::Channel &channel,
                        const program::Exchange &exchange,
                        llvm::ArrayRef<RowCounts> counts, size_t place,
                        llvm::ArrayRef<int64_t> ranks, const Contribution &own,
                        const std::atomic<bool> &aborted) {
    std::optional<RowCountError> error =
        ranks::findRowCountError(exchange, channel.name, counts, ranks, own);
    if (!error)
      return llvm::Error::success();
    if (error->member == place)
      return llvm::createStringError(error->reason);
    waitForAbort(aborted);
    return makeAborted(channel);
  }

  /// Releases all waiting threads after `aborted` is set.
  void release() {
    // Taking the lock orders the store before the waiters' next check.
    std::lock_guard<std::mutex> lock(mutex);
    changed.notify_all();
  }
};

/// The groups of a communicator by channel and members, made when they are
/// first used.
template <typename Group> class ChannelGroups {
public:
  /// Returns the group, which `make` makes of its members if it is new.
  Group &
  find(uint32_t channel, std::vector<int64_t> members,
       llvm::function_ref<std::unique_ptr<Group>(std::vector<int64_t>)> make) {
    std::lock_guard<std::mutex> lock(mutex);
    std::unique_ptr<Group> &group = groups[{channel, members}];
    if (!group)
      group = make(std::move(members));
    return *group;
  }
  void forEach(llvm::function_ref<void(Group &)> use) {
    std::lock_guard<std::mutex> lock(mutex);
    for (auto &[key, group] : groups)
      use(*group);
  }

private:
  std::mutex mutex;
  std::map<std::pair<uint32_t, std::vector<int64_t>>, std::unique_ptr<Group>>
      groups;
};

} // namespace mf::runner

#endif // MF_LIB_EXEC_RUNNER_GROUPBARRIER_H
