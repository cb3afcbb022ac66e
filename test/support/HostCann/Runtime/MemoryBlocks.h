//===- MemoryBlocks.h - Allocated memory of devices and host ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_SUPPORT_HOSTCANN_RUNTIME_MEMORYBLOCKS_H
#define MF_TEST_SUPPORT_HOSTCANN_RUNTIME_MEMORYBLOCKS_H

#include "llvm/ADT/Twine.h"
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

namespace mf::hostcann {

/// A block of device memory or of pinned host memory.
struct AllocatedBlock {
  uintptr_t begin = 0;
  size_t bytes = 0;
  /// Negative for host memory.
  int32_t device = -1;
  void *memory = nullptr;

  bool isDevice() const { return device >= 0; }
  uintptr_t getEnd() const { return begin + bytes; }
};

/// All blocks of the process, ordered by address.
class MemoryBlocks {
public:
  ~MemoryBlocks();

  /// Allocates a block. Returns null if the machine does not have enough
  /// memory. The memory is filled with bytes that are NaNs in all
  /// floating-point types, so that reads of uninitialised memory are noticed.
  void *allocate(size_t bytes, int32_t device);
  /// Frees a block, which must be one of this object.
  void release(const AllocatedBlock &block);
  void releaseAll();

  /// Returns the block that begins at `address`, or null.
  const AllocatedBlock *findBegin(const void *address) const;
  /// Returns the block that contains the byte, or null.
  const AllocatedBlock *findByte(uintptr_t address) const;

  /// Returns what is wrong with accessing a range as memory of `device`, or an
  /// empty string. Pinned host memory is accepted too if `allowsHost` is true.
  std::string checkRange(uintptr_t begin, size_t bytes, int32_t device,
                         bool allowsHost, const llvm::Twine &what) const;

  size_t getUsedBytes(int32_t device) const;
  /// Returns a text such as "3 blocks of 4096 bytes", or an empty string.
  std::string describeLeaks() const;

private:
  std::map<uintptr_t, AllocatedBlock> blocks;
  /// The blocks that were freed last, for messages.
  std::deque<AllocatedBlock> freed;
};

} // namespace mf::hostcann

#endif // MF_TEST_SUPPORT_HOSTCANN_RUNTIME_MEMORYBLOCKS_H
