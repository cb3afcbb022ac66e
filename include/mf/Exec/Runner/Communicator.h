//===- Communicator.h - Communication between ranks -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The part of HCCL that a runner needs. A channel of the program represents all
// groups of its kind; a rank finds its own group by its coordinates.
// Implementations only transfer bytes. The arithmetic and its order are defined
// in one place (mf/Exec/Ranks/CollectiveShare.h), so that all implementations
// compute the same bits.
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_RUNNER_COMMUNICATOR_H
#define MF_EXEC_RUNNER_COMMUNICATOR_H

#include "mf/Exec/Device/Stream.h"
#include "mf/Exec/Ranks/CollectiveShare.h"
#include "mf/Program/Program.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace mf::runner {

using ranks::Contribution;

/// The channels of a program as its ranks use them. `channel` is an index into
/// Program::channels, `rank` the calling rank. All functions are thread-safe,
/// but only one thread at a time may use a channel, rank and direction.
/// `times`, if given, is set to the interval in which bytes were transferred,
/// from the arrival of all members to the end. It is not changed by a
/// communicator that cannot know the interval.
class Communicator {
public:
  virtual ~Communicator();

  /// Blocks until the bytes at `from` may be changed.
  virtual llvm::Error send(uint32_t channel, int64_t rank,
                           const std::byte *from, int64_t bytes,
                           WorkTimes *times = nullptr) = 0;

  /// Blocks until the next message of the channel is stored at `to`. Fails if
  /// its size is not `bytes`.
  virtual llvm::Error receive(uint32_t channel, int64_t rank, std::byte *to,
                              int64_t bytes, WorkTimes *times = nullptr) = 0;

  /// Blocks until all members have arrived, the output holds the result, and no
  /// member reads the input or the counts any more. Fails if another member's
  /// input has a different size. If the counts of a group are invalid, the
  /// member that the error is about fails and the others wait for `abort`, so
  /// that the run always ends with the same single reason.
  virtual llvm::Error collective(uint32_t channel, int64_t rank,
                                 const program::Exchange &exchange,
                                 const Contribution &own,
                                 WorkTimes *times = nullptr) = 0;

  /// Releases all current and future waits. Their calls fail.
  virtual void abort() = 0;
};

/// Makes a communicator for ranks that are threads of this process. A message
/// is copied directly from the sender's memory to the receiver's. The members
/// of a collective compute equal shares of it, each on its own thread.
std::unique_ptr<Communicator>
makeLocalCommunicator(program::Mesh mesh,
                      std::vector<program::Channel> channels);

} // namespace mf::runner

#endif // MF_EXEC_RUNNER_COMMUNICATOR_H
