//===- AccessOrder.h - Races between streams, by vector clocks --*- C++ -*-===//
//
// Two accesses to the same byte, one of them a write, need an order: the
// stream, an event, or the host that waited (Lamport's happened-before, as
// vector clocks of Mattern, 1989). The answer depends on the calls alone and
// not on when streams run.
//
//===----------------------------------------------------------------------===//

#ifndef MF_HOSTCANN_ACCESSORDER_H
#define MF_HOSTCANN_ACCESSORDER_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mf::hostcann {

/// How far each queue has come, by its number; what is not there is 0.
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
  /// A name that lives as long as the process.
  const char *name = nullptr;
  uint64_t number = 0;
  /// The aclDataType of what is accessed; negative if the call knows none.
  int type = -1;
};

/// "aclnnAdd (call 12 on stream 3)".
std::string describe(const CallSite &site);

/// Who accessed which bytes last.
class AccessOrder {
public:
  /// Says what is wrong with an access that comes after `clock`, or nothing. A
  /// read of bytes that nothing has written, or as elements of another type, is
  /// wrong if `needsValue`.
  std::string check(uintptr_t begin, uintptr_t end, bool isWrite,
                    bool needsValue, const VectorClock &clock,
                    const CallSite &site) const;

  void note(uintptr_t begin, uintptr_t end, bool isWrite, const CallSite &site);

  /// Forgets all accesses to memory that is freed.
  void forget(uintptr_t begin, uintptr_t end);

private:
  struct Cell {
    uintptr_t end = 0;
    std::optional<CallSite> writer;
    llvm::SmallVector<CallSite, 2> readers;
  };
  using Cells = std::map<uintptr_t, Cell>;

  /// The first cell that ends behind `begin`.
  Cells::const_iterator find(uintptr_t begin) const;
  /// Lets a cell begin at `place`, if one covers it.
  void split(uintptr_t place);

  Cells cells;
};

} // namespace mf::hostcann

#endif // MF_HOSTCANN_ACCESSORDER_H
