//===- SharedGroup.h - Ranks that meet in shared memory ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The ranks of a communicator, in processes of one machine. Each rank has a
// file in shared memory: a header that all ranks map, and the bytes that the
// rank brings to a collective. A file is locked as long as its process lives,
// so that no rank waits for one that died.
//
//===----------------------------------------------------------------------===//

#ifndef MF_TEST_SUPPORT_HOSTCANN_HCCL_SHAREDGROUP_H
#define MF_TEST_SUPPORT_HOSTCANN_HCCL_SHAREDGROUP_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mf::hostcann {

/// A rank's call. Ranks compare their calls, because all must make the same
/// one.
struct GroupCall {
  /// The function's name.
  char function[32] = {};
  /// The number of the call on its communicator, from 1.
  uint64_t number = 0;
  uint64_t count = 0;
  uint32_t type = 0;
  uint32_t reduction = 0;
  /// The root of a broadcast, or the other rank of a message.
  uint32_t root = 0;
};

/// Returns, for example, "HcclAllReduce (call 3) of 64 elements of type 4".
std::string describe(const GroupCall &call);

/// The file of one rank, as this process has mapped it.
struct GroupMember;

/// One rank's view of its group. Only one thread may use it at a time, except
/// that any thread may call `end`.
class SharedGroup {
public:
  /// Makes the folder in which ranks meet, and returns its path.
  static llvm::Expected<std::string> makeFolder();
  /// Joins the group and waits for the other ranks, at most for
  /// HCCL_CONNECT_TIMEOUT.
  static llvm::Expected<std::unique_ptr<SharedGroup>>
  join(const std::string &folder, const std::string &name, uint32_t numRanks,
       uint32_t rank);
  ~SharedGroup();

  const std::string &getName() const { return name; }
  uint32_t getNumRanks() const { return members.size(); }
  uint32_t getRank() const { return rank; }

  /// Begins a call with the rank's `input`, and waits until all ranks have
  /// begun theirs, at most for HCCL_EXEC_TIMEOUT.
  llvm::Error begin(const GroupCall &call, llvm::ArrayRef<char> input);
  /// Return the call and the input of another rank. Valid between `begin` and
  /// `finish`.
  const GroupCall &getCall(uint32_t member) const;
  llvm::Expected<std::vector<char>> readInput(uint32_t member, uint64_t offset,
                                              uint64_t bytes) const;
  /// Waits until no other rank reads this rank's input any more.
  llvm::Error finish();

  /// Tells the others that this rank makes no further calls, and ends the waits
  /// of this rank.
  void end(llvm::StringRef why);

  llvm::Error makeError(const llvm::Twine &what) const;

private:
  using Clock = std::chrono::steady_clock;

  SharedGroup(std::string folder, std::string name, uint32_t rank)
      : folder(std::move(folder)), name(std::move(name)), rank(rank) {}
  llvm::Error makeOwn(uint32_t numRanks);
  llvm::Error openOther(uint32_t member, Clock::time_point limit,
                        uint64_t seconds);
  llvm::Error meet(uint64_t seconds, const char *variable);
  llvm::Error waitFor(uint32_t member, uint32_t phase, Clock::time_point limit,
                      uint64_t seconds, const char *variable);
  bool hasDied(uint32_t member) const;
  std::string describeWait(uint32_t member) const;

  std::string folder, name;
  uint32_t rank;
  std::vector<std::unique_ptr<GroupMember>> members;
  std::atomic<bool> hasEnded{false};
};

} // namespace mf::hostcann

#endif // MF_TEST_SUPPORT_HOSTCANN_HCCL_SHAREDGROUP_H
