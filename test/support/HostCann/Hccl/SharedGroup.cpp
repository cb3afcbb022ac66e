//===- SharedGroup.cpp - Ranks that meet in shared memory -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "SharedGroup.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace mf::hostcann {
namespace {

enum class MemberState : uint32_t { Joined, Ended };

/// The beginning of a rank's file.
struct MemberHeader {
  uint32_t numRanks;
  /// The number of times that the rank has reached a point where it meets the
  /// others.
  std::atomic<uint32_t> phase;
  std::atomic<MemberState> state;
  GroupCall call;
  char why[512];
};

constexpr size_t headerBytes = 4096;
static_assert(sizeof(MemberHeader) <= headerBytes);
static_assert(std::atomic<uint32_t>::is_always_lock_free);

/// The time for which a wait sleeps before it checks whether the other rank is
/// alive.
constexpr long sliceNanoseconds = 20'000'000;

uint64_t readSeconds(const char *variable, uint64_t otherwise) {
  const char *text = std::getenv(variable);
  uint64_t seconds = 0;
  if (!text || llvm::StringRef(text).getAsInteger(10, seconds) || seconds == 0)
    return otherwise;
  return seconds;
}

uint32_t *getWord(std::atomic<uint32_t> &value) {
  return reinterpret_cast<uint32_t *>(&value);
}

void sleepWhile(std::atomic<uint32_t> &value, uint32_t expected) {
  const timespec slice = {0, sliceNanoseconds};
  syscall(SYS_futex, getWord(value), FUTEX_WAIT, expected, &slice, nullptr, 0);
}

void wakeAll(std::atomic<uint32_t> &value) {
  syscall(SYS_futex, getWord(value), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

llvm::Error makeSystemError(const llvm::Twine &what) {
  return llvm::createStringError(what + ": " + std::strerror(errno));
}

} // namespace

struct GroupMember {
  int file = -1;
  MemberHeader *header = nullptr;

  ~GroupMember() {
    if (header)
      munmap(header, headerBytes);
    if (file >= 0)
      close(file);
  }
  bool map() {
    void *memory =
        mmap(nullptr, headerBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    header =
        memory == MAP_FAILED ? nullptr : static_cast<MemberHeader *>(memory);
    return header;
  }
};

std::string describe(const GroupCall &call) {
  std::string text =
      llvm::formatv("{0} (call {1})", call.function, call.number).str();
  if (call.count)
    text += llvm::formatv(" of {0} elements of type {1}", call.count, call.type)
                .str();
  return text;
}

//===----------------------------------------------------------------------===//
// Joining
//===----------------------------------------------------------------------===//

llvm::Expected<std::string> SharedGroup::makeFolder() {
  std::string folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  folder += "/mf-hccl.XXXXXX";
  if (!mkdtemp(folder.data()))
    return makeSystemError(folder);
  return folder;
}

llvm::Error SharedGroup::makeError(const llvm::Twine &what) const {
  return llvm::createStringError("communicator '" + name + "', rank " +
                                 llvm::Twine(rank) + ": " + what);
}

/// Makes the file of this rank. It gets its name only after its header is
/// complete and it is locked.
llvm::Error SharedGroup::makeOwn(uint32_t numRanks) {
  const std::string path = folder + "/" + std::to_string(rank);
  std::string temporary = path + ".XXXXXX";
  GroupMember &own = *members[rank];
  own.file = mkstemp(temporary.data());
  if (own.file < 0 || ftruncate(own.file, headerBytes) != 0 || !own.map() ||
      flock(own.file, LOCK_EX | LOCK_NB) != 0)
    return makeSystemError(temporary);
  own.header->numRanks = numRanks;
  const bool isNew = link(temporary.c_str(), path.c_str()) == 0;
  const int code = errno;
  unlink(temporary.c_str());
  if (isNew)
    return llvm::Error::success();
  if (code == EEXIST)
    return makeError("another process has joined as this rank already");
  errno = code;
  return makeSystemError(path);
}

llvm::Error SharedGroup::openOther(uint32_t member, Clock::time_point limit,
                                   uint64_t seconds) {
  const std::string path = folder + "/" + std::to_string(member);
  GroupMember &other = *members[member];
  while ((other.file = open(path.c_str(), O_RDWR | O_CLOEXEC)) < 0) {
    if (errno != ENOENT)
      return makeSystemError(path);
    if (Clock::now() >= limit)
      return makeError(llvm::formatv("rank {0} has not joined within {1} s "
                                     "(HCCL_CONNECT_TIMEOUT)",
                                     member, seconds)
                           .str());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (!other.map())
    return makeSystemError(path);
  if (other.header->numRanks == members.size())
    return llvm::Error::success();
  return makeError(llvm::formatv("{0} ranks are given, but rank {1} gives {2}",
                                 members.size(), member, other.header->numRanks)
                       .str());
}

llvm::Expected<std::unique_ptr<SharedGroup>>
SharedGroup::join(const std::string &folder, const std::string &name,
                  uint32_t numRanks, uint32_t rank) {
  std::unique_ptr<SharedGroup> group(new SharedGroup(folder, name, rank));
  for (uint32_t i = 0; i < numRanks; ++i)
    group->members.push_back(std::make_unique<GroupMember>());
  if (llvm::Error error = group->makeOwn(numRanks))
    return std::move(error);
  const uint64_t seconds = readSeconds("HCCL_CONNECT_TIMEOUT", 120);
  const auto limit = Clock::now() + std::chrono::seconds(seconds);
  for (uint32_t i = 0; i < numRanks; ++i)
    if (i != rank)
      if (llvm::Error error = group->openOther(i, limit, seconds))
        return std::move(error);
  if (llvm::Error error = group->meet(seconds, "HCCL_CONNECT_TIMEOUT"))
    return std::move(error);
  // All ranks have opened all files, so their names are not needed any more.
  unlink((folder + "/" + std::to_string(rank)).c_str());
  rmdir(folder.c_str());
  return std::move(group);
}

SharedGroup::~SharedGroup() { end("it has destroyed the communicator"); }

//===----------------------------------------------------------------------===//
// Meeting
//===----------------------------------------------------------------------===//

void SharedGroup::end(llvm::StringRef why) {
  if (hasEnded.exchange(true) || !members[rank]->header)
    return;
  MemberHeader &own = *members[rank]->header;
  const size_t length = std::min(why.size(), sizeof(own.why) - 1);
  std::memcpy(own.why, why.data(), length);
  own.why[length] = 0;
  own.state.store(MemberState::Ended);
  wakeAll(own.phase);
}

/// Returns whether the process of a rank has ended: only then can the lock of
/// the rank's file be taken.
bool SharedGroup::hasDied(uint32_t member) const {
  const int file = members[member]->file;
  if (flock(file, LOCK_SH | LOCK_NB) != 0)
    return false;
  flock(file, LOCK_UN);
  return true;
}

std::string SharedGroup::describeWait(uint32_t member) const {
  const GroupCall &last = members[member]->header->call;
  return describe(members[rank]->header->call) + " waits for rank " +
         std::to_string(member) + ", whose latest call " +
         (last.number ? "is " + describe(last) : "was to join");
}

llvm::Error SharedGroup::waitFor(uint32_t member, uint32_t phase,
                                 Clock::time_point limit, uint64_t seconds,
                                 const char *variable) {
  MemberHeader &other = *members[member]->header;
  while (true) {
    const uint32_t reached = other.phase.load();
    if (static_cast<int32_t>(reached - phase) >= 0)
      return llvm::Error::success();
    if (hasEnded.load())
      return makeError(describeWait(member) +
                       ": this rank has failed elsewhere");
    if (other.state.load() == MemberState::Ended &&
        other.phase.load() == reached)
      return makeError(describeWait(member) + ": " + other.why);
    if (hasDied(member) && other.phase.load() == reached)
      return makeError(describeWait(member) + ": its process has ended");
    if (Clock::now() >= limit)
      return makeError(describeWait(member) + ": it has not come within " +
                       llvm::Twine(seconds) + " s (" + variable + ")");
    sleepWhile(other.phase, reached);
  }
}

llvm::Error SharedGroup::meet(uint64_t seconds, const char *variable) {
  MemberHeader &own = *members[rank]->header;
  const uint32_t phase = own.phase.fetch_add(1) + 1;
  wakeAll(own.phase);
  const auto limit = Clock::now() + std::chrono::seconds(seconds);
  for (uint32_t i = 0; i < members.size(); ++i)
    if (i != rank)
      if (llvm::Error error = waitFor(i, phase, limit, seconds, variable))
        return error;
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

llvm::Error SharedGroup::begin(const GroupCall &call,
                               llvm::ArrayRef<char> input) {
  GroupMember &own = *members[rank];
  own.header->call = call;
  size_t done = 0;
  while (done < input.size()) {
    const ssize_t written =
        pwrite(own.file, input.data() + done, input.size() - done,
               static_cast<off_t>(headerBytes + done));
    if (written <= 0)
      return makeSystemError("shared memory");
    done += written;
  }
  return meet(readSeconds("HCCL_EXEC_TIMEOUT", 1836), "HCCL_EXEC_TIMEOUT");
}

llvm::Error SharedGroup::finish() {
  return meet(readSeconds("HCCL_EXEC_TIMEOUT", 1836), "HCCL_EXEC_TIMEOUT");
}

const GroupCall &SharedGroup::getCall(uint32_t member) const {
  return members[member]->header->call;
}

llvm::Expected<std::vector<char>>
SharedGroup::readInput(uint32_t member, uint64_t offset, uint64_t bytes) const {
  std::vector<char> input(bytes);
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got =
        pread(members[member]->file, input.data() + done, bytes - done,
              static_cast<off_t>(headerBytes + offset + done));
    if (got <= 0)
      return makeSystemError("shared memory");
    done += got;
  }
  return input;
}

} // namespace mf::hostcann
