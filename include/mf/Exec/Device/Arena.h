//===- Arena.h - One contiguous memory of a device ------------*- C++ -*-===//
//
// HBM or pinned host memory of an emulated NPU: exactly as many bytes as the
// memory plan asks for, so that a plan that is too small cannot work by luck.
//
//===----------------------------------------------------------------------===//

#ifndef MF_DEVICE_ARENA_H
#define MF_DEVICE_ARENA_H

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
    /// Places the end against an inaccessible page, the start behind one, and
    /// fills what lies between the pages and the arena with canaries.
    bool guard = false;
    /// Enables `poison`.
    bool poison = false;
  };

  /// Maps `bytes` bytes (0 is allowed), zero until written. `name` is for
  /// messages. Fails if `bytes` is negative or the system has not that much
  /// address space.
  static llvm::Expected<std::unique_ptr<Arena>>
  create(llvm::StringRef name, int64_t bytes, const Options &options);
  ~Arena();
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;

  std::byte *getBase() const { return base; }
  int64_t getBytes() const { return bytes; }

  /// Whether [address, address + bytes) lies in the arena.
  bool contains(const void *address, int64_t bytes) const;

  /// Fills the range with the 16-bit pattern 0x7fa0: a NaN as f32, bf16 and
  /// f16 (a signalling one as f32 and bf16), an index out of any range as i32
  /// and i64. Does nothing unless enabled. The range is cut to the arena.
  void poison(int64_t offset, int64_t bytes);

  /// Notes that a range was used. May be called by several threads.
  void touch(int64_t offset, int64_t bytes);

  /// The end of the furthest range noted with `touch`; 0 if there was none.
  int64_t getTouchedBytes() const { return touched.load(); }

  /// With `guard`: fails if a byte next to the arena was overwritten, and says
  /// where. Without, always succeeds.
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
  /// The accessible part of the mapping, arena included.
  std::byte *openBegin = nullptr;
  std::byte *openEnd = nullptr;
  std::atomic<int64_t> touched{0};
};

} // namespace mf

#endif // MF_DEVICE_ARENA_H
