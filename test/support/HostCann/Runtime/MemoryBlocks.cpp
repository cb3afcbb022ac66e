//===- MemoryBlocks.cpp - Allocated memory of devices and host ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "HostCann/Runtime/MemoryBlocks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <sys/mman.h>

namespace mf::hostcann {
namespace {

constexpr uint16_t nanPattern = 0x7fa0;
/// Larger blocks are not filled with a pattern, because that takes too long.
constexpr size_t mostFilledBytes = size_t{1} << 30;
constexpr size_t mostFreedBlocks = 1024;

} // namespace

MemoryBlocks::~MemoryBlocks() { releaseAll(); }

void MemoryBlocks::releaseAll() {
  for (const auto &[begin, block] : blocks)
    munmap(block.memory, block.bytes);
  blocks.clear();
  freed.clear();
}

void *MemoryBlocks::allocate(size_t bytes, int32_t device) {
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return nullptr;
  if (device >= 0 && bytes <= mostFilledBytes)
    std::fill_n(static_cast<uint16_t *>(memory), bytes / 2, nanPattern);
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  blocks[begin] = {begin, bytes, device, memory};
  return memory;
}

void MemoryBlocks::release(const AllocatedBlock &block) {
  const AllocatedBlock copy = block;
  munmap(copy.memory, copy.bytes);
  blocks.erase(copy.begin);
  freed.push_back(copy);
  if (freed.size() > mostFreedBlocks)
    freed.pop_front();
}

const AllocatedBlock *MemoryBlocks::findBegin(const void *address) const {
  auto at = blocks.find(reinterpret_cast<uintptr_t>(address));
  return at == blocks.end() ? nullptr : &at->second;
}

const AllocatedBlock *MemoryBlocks::findByte(uintptr_t address) const {
  auto at = blocks.upper_bound(address);
  if (at == blocks.begin())
    return nullptr;
  const AllocatedBlock &block = std::prev(at)->second;
  return address < block.getEnd() ? &block : nullptr;
}

std::string MemoryBlocks::checkRange(uintptr_t begin, size_t bytes,
                                     int32_t device, bool allowsHost,
                                     const llvm::Twine &what) const {
  if (bytes == 0)
    return {};
  const AllocatedBlock *block = findByte(begin);
  if (!block) {
    const bool wasFreed =
        llvm::any_of(llvm::reverse(freed), [&](const AllocatedBlock &old) {
          return begin >= old.begin && begin < old.getEnd();
        });
    return llvm::formatv("{0} at {1:x} is in {2}", what.str(), begin,
                         wasFreed ? "memory that was freed"
                                  : "no memory of aclrtMalloc")
        .str();
  }
  if (bytes > block->getEnd() - begin)
    return llvm::formatv("{0} has {1} bytes at {2:x}, but the memory of {3} "
                         "bytes ends {4} bytes behind that",
                         what.str(), bytes, begin, block->bytes,
                         block->getEnd() - begin)
        .str();
  if (!block->isDevice() && !allowsHost)
    return llvm::formatv("{0} at {1:x} is in memory of the host, expected the "
                         "device's",
                         what.str(), begin)
        .str();
  if (block->isDevice() && block->device != device)
    return llvm::formatv("{0} at {1:x} is in memory of device {2}, expected "
                         "device {3}'s",
                         what.str(), begin, block->device, device)
        .str();
  return {};
}

size_t MemoryBlocks::getUsedBytes(int32_t device) const {
  size_t used = 0;
  for (const auto &[begin, block] : blocks)
    if (block.device == device)
      used += block.bytes;
  return used;
}

std::string MemoryBlocks::describeLeaks() const {
  if (blocks.empty())
    return {};
  size_t bytes = 0;
  for (const auto &[begin, block] : blocks)
    bytes += block.bytes;
  return llvm::formatv("{0} blocks of memory of {1} bytes together",
                       blocks.size(), bytes)
      .str();
}

} // namespace mf::hostcann
