//===- MemoryBlocks.h - Allocated memory of devices and host ----*- C++ -*-===//

#ifndef MF_HOSTCANN_MEMORYBLOCKS_H
#define MF_HOSTCANN_MEMORYBLOCKS_H

#include "llvm/ADT/Twine.h"
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

namespace mf::hostcann {

/// Memory of a device, or pinned memory of the host.
struct AllocatedBlock {
  uintptr_t begin = 0;
  size_t bytes = 0;
  /// Below 0 for the host's.
  int32_t device = -1;
  void *memory = nullptr;

  bool isDevice() const { return device >= 0; }
  uintptr_t getEnd() const { return begin + bytes; }
};

/// All blocks of the process, by address.
class MemoryBlocks {
public:
  ~MemoryBlocks();

  /// Null if the machine has no such memory. Its contents are NaNs of all
  /// floating-point types, so that who reads what nobody wrote sees it.
  void *allocate(size_t bytes, int32_t device);
  /// `block` must be one of these.
  void release(const AllocatedBlock &block);
  void releaseAll();

  /// The block that begins there, or null.
  const AllocatedBlock *findBegin(const void *address) const;
  /// The block that has the byte, or null.
  const AllocatedBlock *findByte(uintptr_t address) const;

  /// Says what is wrong with accessing these bytes as memory of `device`.
  /// Pinned memory is as good as the device's if `allowsHost`.
  std::string checkRange(uintptr_t begin, size_t bytes, int32_t device,
                         bool allowsHost, const llvm::Twine &what) const;

  size_t getUsedBytes(int32_t device) const;
  /// "3 blocks of 4096 bytes", or nothing.
  std::string describeLeaks() const;

private:
  std::map<uintptr_t, AllocatedBlock> blocks;
  /// The latest blocks that were freed, for messages.
  std::deque<AllocatedBlock> freed;
};

} // namespace mf::hostcann

#endif // MF_HOSTCANN_MEMORYBLOCKS_H
