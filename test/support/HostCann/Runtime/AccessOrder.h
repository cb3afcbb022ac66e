//===- AccessOrder.h - Races between streams, by vector clocks --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Two accesses to the same byte, one of which is a write, must be ordered by a
// stream, by an event, or by the host waiting (Lamport's happened-before, with
// vector clocks by Mattern, 1989). The result depends on the calls alone and
// not on when streams run.
//
//===----------------------------------------------------------------------===//

#ifndef MF_TEST_SUPPORT_HOSTCANN_RUNTIME_ACCESSORDER_H
#define MF_TEST_SUPPORT_HOSTCANN_RUNTIME_ACCESSORDER_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mf::hostcann {

/// The progress of each queue, by its number. Missing entries are 0.
class VectorClock {
public:
  uint64_t get(uint32_t queue) const {
    return queue < ticks.size() ? ticks[queue] : 0;
  }
  void set(uint32_t queue, uint64_t tick);
  void join(const VectorClock &other);

private:
  std::vector<uint64_t> ticks;
};

/// A call that accessed memory. Queue 0 is the host.
struct CallSite {
  uint32_t queue = 0;
  uint64_t tick = 0;
  /// A name with static lifetime.
  const char *name = nullptr;
  uint64_t number = 0;
  /// The aclDataType of the accessed elements. Negative if the call does not
  /// specify one.
  int type = -1;
};

/// Formats a call, for example "aclnnAdd (call 12 on stream 3)".
std::string describe(const CallSite &site);

/// The last accesses to each byte.
class AccessOrder {
public:
  /// Returns what is wrong with an access that happens after `clock`, or an
  /// empty string. If `needsValue` is true, it is wrong to read bytes that were
  /// never written, or were written as elements of another type.
  std::string check(uintptr_t begin, uintptr_t end, bool isWrite,
                    bool needsValue, const VectorClock &clock,
                    const CallSite &site) const;

  void note(uintptr_t begin, uintptr_t end, bool isWrite, const CallSite &site);

  /// Removes all accesses to memory that is freed.
  void forget(uintptr_t begin, uintptr_t end);

private:
  struct Cell {
    uintptr_t end = 0;
    std::optional<CallSite> writer;
    llvm::SmallVector<CallSite, 2> readers;
  };
  using Cells = std::map<uintptr_t, Cell>;

  /// Returns the first cell that ends after `begin`.
  Cells::const_iterator find(uintptr_t begin) const;
  /// Splits the cell that covers `place`, if any, so that a cell begins there.
  void split(uintptr_t place);

  Cells cells;
};

} // namespace mf::hostcann

#endif // MF_TEST_SUPPORT_HOSTCANN_RUNTIME_ACCESSORDER_H
