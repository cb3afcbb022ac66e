//===- SharedGroup.h - Ranks that meet in shared memory ---------*- C++ -*-===//
//
// The ranks of a communicator, in processes of one machine. Each has a file in
// shared memory with a header that all of them map and, behind it, the bytes
// that it brings to a collective. The file is locked as long as its process
// lives, so that nobody waits for one that died.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_HCCL_SHAREDGROUP_H
#define MF_LIB_HOSTCANN_HCCL_SHAREDGROUP_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mf::hostcann {

/// A rank's call, which ranks compare.
struct GroupCall {
  /// The function's name.
  char function[32] = {};
  /// Calls of a communicator are counted from 1.
  uint64_t number = 0;
  uint64_t count = 0;
  uint32_t type = 0;
  uint32_t reduction = 0;
  /// The root of a broadcast, or the other rank of a message.
  uint32_t root = 0;
};

/// "HcclAllReduce (call 3) of 64 elements of type 4".
std::string describe(const GroupCall &call);

/// The file of one rank, as it is mapped here.
struct GroupMember;

/// One thread at a time uses it; `end` may be called by any.
class SharedGroup {
public:
  /// Makes the folder where ranks meet, and gives its path.
  static llvm::Expected<std::string> makeFolder();
  /// Joins and waits for the others, no longer than HCCL_CONNECT_TIMEOUT.
  static llvm::Expected<std::unique_ptr<SharedGroup>>
  join(const std::string &folder, const std::string &name, uint32_t numRanks,
       uint32_t rank);
  ~SharedGroup();

  const std::string &getName() const { return name; }
  uint32_t getNumRanks() const { return members.size(); }
  uint32_t getRank() const { return rank; }

  /// Brings `input` to a call and waits until all ranks have come with theirs,
  /// no longer than HCCL_EXEC_TIMEOUT.
  llvm::Error begin(const GroupCall &call, llvm::ArrayRef<char> input);
  /// The call and the input of another rank, between `begin` and `finish`.
  const GroupCall &getCall(uint32_t member) const;
  llvm::Expected<std::vector<char>> readInput(uint32_t member, uint64_t offset,
                                              uint64_t bytes) const;
  /// Waits until nobody reads what this rank brought.
  llvm::Error finish();

  /// Tells the others that this rank will come to no call any more. Ends waits
  /// of this rank, too.
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

#endif // MF_LIB_HOSTCANN_HCCL_SHAREDGROUP_H
