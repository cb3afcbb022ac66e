//===- Arena.h - One contiguous memory of a device ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The HBM or pinned host memory of an emulated NPU. It has exactly as many
// bytes as the memory plan requires, so that a plan that is too small is
// detected.
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_DEVICE_ARENA_H
#define MF_EXEC_DEVICE_ARENA_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace mf {

/// A range of anonymous memory. Its base is aligned to 64 bytes.
class Arena {
public:
  struct Options {
    /// If true, the end of the arena is followed, and its start preceded, by an
    /// inaccessible page, and the bytes between these pages and the arena are
    /// filled with canaries.
    bool guard = false;
    /// Enables `poison`.
    bool poison = false;
  };

  /// Maps `bytes` bytes (0 is allowed), which are initially zero. `name` is
  /// used in messages. Fails if `bytes` is negative or the system does not have
  /// enough address space.
  static llvm::Expected<std::unique_ptr<Arena>>
  create(llvm::StringRef name, int64_t bytes, const Options &options);
  ~Arena();
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;

  std::byte *getBase() const { return base; }
  int64_t getBytes() const { return bytes; }

  /// Returns whether [address, address + bytes) is in the arena.
  bool contains(const void *address, int64_t bytes) const;

  /// Fills the range with the 16-bit pattern 0x7fa0. It is a NaN as f32, bf16
  /// and f16 (a signalling one as f32 and bf16), and an index out of any range
  /// as i32 and i64. Does nothing unless poisoning is enabled. The range is
  /// clipped to the arena.
  void poison(int64_t offset, int64_t bytes);

  /// Records that a range was used. Thread-safe.
  void touch(int64_t offset, int64_t bytes);

  /// Returns the highest end of a range recorded by `touch`; 0 if there was
  /// none.
  int64_t getTouchedBytes() const { return touched.load(); }

  /// With `guard`, fails if a byte next to the arena was overwritten, and
  /// states its place. Without `guard`, always succeeds.
  llvm::Error checkCanaries() const;

private:
  Arena() = default;
  void fillCanaries();

  std::string name;
  std::byte *base = nullptr;
  int64_t bytes = 0;
  Options options;
  std::byte *mapping = nullptr;
  size_t mappingBytes = 0;
  /// The accessible part of the mapping, which includes the arena.
  std::byte *openBegin = nullptr;
  std::byte *openEnd = nullptr;
  std::atomic<int64_t> touched{0};
};

} // namespace mf

#endif // MF_EXEC_DEVICE_ARENA_H
