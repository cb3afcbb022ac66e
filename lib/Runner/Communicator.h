//===- Communicator.h - Messages between ranks of a process ----*- C++ -*-===//
//
// HCCL among threads. A message goes straight from the sender's arena to the
// receiver's: the sender's stream waits until it is taken. A reduction is
// computed by the member that comes last, in the order of the group, so its
// bits do not depend on who that is.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_RUNNER_COMMUNICATOR_H
#define MF_LIB_RUNNER_COMMUNICATOR_H

#include "mf/Program/Program.h"
#include "llvm/Support/Error.h"
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace mf::runner {

/// The channels of a program. All functions may be called by several threads;
/// for one channel and rank, by one at a time.
class Communicator {
public:
  explicit Communicator(llvm::ArrayRef<program::Channel> channels);
  ~Communicator();

  /// Blocks until the receiver of the channel has copied the bytes.
  llvm::Error send(uint32_t channel, const std::byte *from, int64_t bytes);

  /// Blocks until the sender has come, then copies.
  llvm::Error receive(uint32_t channel, std::byte *to, int64_t bytes);

  /// Blocks until all members have come; `data` then holds the sum over them.
  /// Floating-point values are summed in fp32 and rounded once.
  llvm::Error allReduce(uint32_t channel, int64_t rank, std::byte *data,
                        int64_t bytes, DType type);

  /// Releases everyone who waits, now and later; their calls fail.
  void abort();

private:
  struct State;

  std::vector<program::Channel> channels;
  std::vector<std::unique_ptr<State>> states;
  std::atomic<bool> aborted{false};
};

} // namespace mf::runner

#endif // MF_LIB_RUNNER_COMMUNICATOR_H
