//===- mf_memory.h - Blocks of memory ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_CANN_SUPPORT_MF_MEMORY_H
#define MF_LIB_CANN_SUPPORT_MF_MEMORY_H

#include "mf_cann.h"
#include <array>

namespace mf_cann {

/// A block of device memory, or of pinned host memory.
class CannBlock {
public:
  CannBlock() = default;
  CannBlock(const CannBlock &) = delete;
  CannBlock &operator=(const CannBlock &) = delete;
  ~CannBlock() {
    if (data)
      isHost ? aclrtFreeHost(data) : aclrtFree(data);
  }
  void allocate(size_t bytes, bool onHost, const std::string &what) {
    size = std::max<size_t>(bytes, 64);
    isHost = onHost;
    void *memory = nullptr;
    if (const int code =
            onHost ? aclrtMallocHost(&memory, size)
                   : aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST))
      failToAllocate(what, code);
    data = static_cast<char *>(memory);
  }
  char *get() const { return data; }
  size_t getSize() const { return size; }

private:
  [[noreturn]] void failToAllocate(const std::string &what, int code) const {
    // The text is read before the next call overwrites it.
    const char *said = aclGetRecentErrMsg();
    const std::string reason =
        said && *said ? ": " + std::string(said) : std::string();
    std::string text = what + ": " + std::to_string(size) + " bytes";
    size_t free = 0, total = 0;
    if (!isHost && aclrtGetMemInfo(ACL_HBM_MEM, &free, &total) == 0 &&
        free < size)
      text += ", but the device has " + std::to_string(free) + ": " +
              std::to_string(size - free) + " are missing";
    throw std::runtime_error(text + ": error " + std::to_string(code) + reason);
  }

  char *data = nullptr;
  size_t size = 0;
  bool isHost = false;
};

/// Two blocks of pinned memory: the host fills one of them while the device
/// copies from the other.
class CannStaging {
public:
  CannStaging() = default;
  CannStaging(const CannStaging &) = delete;
  CannStaging &operator=(const CannStaging &) = delete;
  ~CannStaging() {
    for (const Half &half : halves)
      if (half.copied)
        aclrtDestroyEvent(half.copied);
  }

  /// Announces a copy of this size.
  void reserve(size_t bytes) { size = std::max(size, bytes); }

  /// Copies bytes of the host to the device, after the work of the stream.
  void copy(char *to, const void *from, size_t bytes, aclrtStream stream) {
    Half &half = halves[next];
    next = 1 - next;
    if (half.copied) {
      check(aclrtSynchronizeEvent(half.copied), "aclrtSynchronizeEvent");
    } else {
      half.block.allocate(size, true, "the host memory of a stream");
      check(aclrtCreateEventExWithFlag(&half.copied, ACL_EVENT_SYNC),
            "aclrtCreateEventExWithFlag");
    }
    check(aclrtMemcpy(half.block.get(), bytes, from, bytes,
                      ACL_MEMCPY_HOST_TO_HOST),
          "aclrtMemcpy");
    check(aclrtMemcpyAsync(to, bytes, half.block.get(), bytes,
                           ACL_MEMCPY_HOST_TO_DEVICE, stream),
          "aclrtMemcpyAsync");
    check(aclrtRecordEvent(half.copied, stream), "aclrtRecordEvent");
  }

private:
  struct Half {
    CannBlock block;
    aclrtEvent copied = nullptr;
  };
  std::array<Half, 2> halves;
  size_t next = 0, size = 0;
};

} // namespace mf_cann

#endif // MF_LIB_CANN_SUPPORT_MF_MEMORY_H
