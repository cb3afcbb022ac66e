//===- Arena.cpp - One contiguous memory of a device ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Device/Arena.h"
#include "mf/Support/Alignment.h"
#include "llvm/Support/Alignment.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace mf {
namespace {

constexpr size_t hugePage = size_t{2} << 20;
constexpr uint16_t poisonPattern = 0x7fa0;
constexpr std::byte canary{0xc5};

/// Far beyond any device, and small enough that rounding up cannot overflow.
constexpr int64_t mostBytes = int64_t{1} << 46;

} // namespace

llvm::Expected<std::unique_ptr<Arena>>
Arena::create(llvm::StringRef name, int64_t bytes, const Options &options) {
  if (bytes < 0 || bytes > mostBytes)
    return llvm::createStringError(
        llvm::formatv("{0}: cannot reserve {1} bytes", name, bytes).str());
  std::unique_ptr<Arena> arena(new Arena);
  arena->name = name.str();
  arena->bytes = bytes;
  arena->options = options;

  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t open =
      std::max<size_t>(page, llvm::alignTo(static_cast<size_t>(bytes), page));
  const size_t edge = options.guard ? page : hugePage;
  arena->mappingBytes = open + 2 * edge;
  void *mapping = mmap(nullptr, arena->mappingBytes, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED)
    return llvm::createStringError(
        llvm::formatv("{0}: cannot reserve {1} bytes: {2}", name, bytes,
                      std::strerror(errno))
            .str());
  arena->mapping = static_cast<std::byte *>(mapping);
  // Without guards the base is aligned to a huge page, for speed.
  const size_t lead =
      options.guard ? edge
                    : llvm::offsetToAlignedAddr(mapping, llvm::Align(hugePage));
  arena->openBegin = arena->mapping + lead;
  arena->openEnd = arena->openBegin + open;
  if (mprotect(arena->openBegin, open, PROT_READ | PROT_WRITE) != 0)
    return llvm::createStringError(
        llvm::formatv("{0}: cannot map {1} bytes: {2}", name, bytes,
                      std::strerror(errno))
            .str());
  // The call is only advice: without huge pages everything works, but more
  // slowly.
  (void)madvise(arena->openBegin, open, MADV_HUGEPAGE);
  arena->base = arena->openBegin;
  if (options.guard) {
    arena->base = arena->openEnd - llvm::alignTo(bytes, addressAlignment);
    arena->fillCanaries();
  }
  return arena;
}

Arena::~Arena() {
  if (mapping)
    munmap(mapping, mappingBytes);
}

bool Arena::contains(const void *address, int64_t size) const {
  auto begin = reinterpret_cast<uintptr_t>(base);
  auto at = reinterpret_cast<uintptr_t>(address);
  return size >= 0 && at >= begin && size <= bytes &&
         at - begin <= static_cast<uintptr_t>(bytes - size);
}

void Arena::fillCanaries() {
  std::fill(openBegin, base, canary);
  std::fill(base + bytes, openEnd, canary);
}

void Arena::poison(int64_t offset, int64_t size) {
  if (!options.poison)
    return;
  int64_t begin = std::clamp<int64_t>(offset, 0, bytes);
  int64_t end = begin + std::clamp<int64_t>(size, 0, bytes - begin);
  // Byte by byte at odd edges, so that the pattern keeps its phase.
  const std::byte pattern[2] = {std::byte{poisonPattern & 0xff},
                                std::byte{poisonPattern >> 8}};
  for (; begin < end && begin % 2 != 0; ++begin)
    base[begin] = pattern[1];
  for (; begin < end && end % 2 != 0; --end)
    base[end - 1] = pattern[0];
  auto *halves = reinterpret_cast<uint16_t *>(base + begin);
  std::fill(halves, halves + (end - begin) / 2, poisonPattern);
}

void Arena::touch(int64_t offset, int64_t size) {
  int64_t end = offset + size;
  int64_t seen = touched.load(std::memory_order_relaxed);
  while (end > seen && !touched.compare_exchange_weak(seen, end)) {
  }
}

llvm::Error Arena::checkCanaries() const {
  if (!options.guard)
    return llvm::Error::success();
  auto isBroken = [](std::byte value) { return value != canary; };
  const std::byte *before = std::find_if(openBegin, base, isBroken);
  if (before != base)
    return llvm::createStringError(
        llvm::formatv("{0}: something wrote {1} bytes before its start", name,
                      base - before)
            .str());
  const std::byte *after = std::find_if(base + bytes, openEnd, isBroken);
  if (after != openEnd)
    return llvm::createStringError(
        llvm::formatv(
            "{0}: something wrote {1} bytes past its end of {2} bytes", name,
            after - (base + bytes), bytes)
            .str());
  return llvm::Error::success();
}

} // namespace mf
