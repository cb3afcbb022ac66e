//===- Communicator.h - How ranks reach each other ------------*- C++ -*-===//
//
// The part of HCCL that a runner needs. A channel of the program stands for all
// groups of its kind; a rank's own is found by its coordinates. Implementations
// move bytes only: what is combined, and in which order, is said once
// (mf/Exec/Ranks/CollectiveShare.h), so that all of them give the same bits.
//
//===----------------------------------------------------------------------===//

#ifndef MF_RUNNER_COMMUNICATOR_H
#define MF_RUNNER_COMMUNICATOR_H

#include "mf/Exec/Device/Stream.h"
#include "mf/Exec/Ranks/CollectiveShare.h"
#include "mf/Program/Program.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace mf::runner {

using ranks::Contribution;

/// The channels of a program as its ranks use them. `channel` is of
/// Program::channels, `rank` the one that calls. All functions may be called by
/// several threads; for one channel, rank and direction, by one at a time.
/// `times`, if given, gets when bytes moved, from when all had come to when all
/// was done. It stays as it is where a communicator cannot know that.
class Communicator {
public:
  virtual ~Communicator();

  /// Blocks until the bytes at `from` may change again.
  virtual llvm::Error send(uint32_t channel, int64_t rank,
                           const std::byte *from, int64_t bytes,
                           WorkTimes *times = nullptr) = 0;

  /// Blocks until the next message of the channel is at `to`. Fails if it is
  /// not of `bytes` bytes.
  virtual llvm::Error receive(uint32_t channel, int64_t rank, std::byte *to,
                              int64_t bytes, WorkTimes *times = nullptr) = 0;

  /// Blocks until all members have come, the output holds the result and nobody
  /// reads the input or the counts any more. Fails if another member's input is
  /// not of as many bytes. Where the counts of a group cannot be, the member
  /// that they are about fails and the others wait for `abort`, so that the run
  /// ends with one reason, and always the same.
  virtual llvm::Error collective(uint32_t channel, int64_t rank,
                                 const program::Exchange &exchange,
                                 const Contribution &own,
                                 WorkTimes *times = nullptr) = 0;

  /// Releases everyone who waits, now and later; their calls fail.
  virtual void abort() = 0;
};

/// For ranks that are threads of this process. A message goes straight from the
/// sender's memory to the receiver's, and the members of a collective compute
/// equal shares of it, each on its own thread.
std::unique_ptr<Communicator>
makeLocalCommunicator(program::Mesh mesh,
                      std::vector<program::Channel> channels);

} // namespace mf::runner

#endif // MF_RUNNER_COMMUNICATOR_H
