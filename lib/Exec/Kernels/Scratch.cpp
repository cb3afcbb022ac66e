//===- Scratch.cpp - Scratch memory of threads ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Scratch.h"
#include "llvm/Support/MemAlloc.h"

namespace mf {
namespace {

constexpr size_t alignment = 64;

struct ScratchBuffer {
  void *memory = nullptr;
  size_t bytes = 0;

  ~ScratchBuffer() { release(); }

  void release() {
    if (memory)
      llvm::deallocate_buffer(memory, bytes, alignment);
  }
};

} // namespace

void *getScratch(ScratchUse use, size_t bytes) {
  thread_local ScratchBuffer buffers[scratchUses];
  ScratchBuffer &buffer = buffers[static_cast<size_t>(use)];
  if (buffer.bytes < bytes) {
    buffer.release();
    buffer.memory = llvm::allocate_buffer(bytes, alignment);
    buffer.bytes = bytes;
  }
  return buffer.memory;
}

} // namespace mf
