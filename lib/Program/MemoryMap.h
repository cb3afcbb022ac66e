//===- MemoryMap.h - Whose bytes are where ---------------------*- C++ -*-===//

#ifndef MF_LIB_PROGRAM_MEMORYMAP_H
#define MF_LIB_PROGRAM_MEMORYMAP_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <map>

namespace mf::program {

/// One instruction of the expanded step as the user of some memory.
struct Use {
  /// `host` is what the host did before the step.
  static constexpr uint32_t host = ~uint32_t{0};

  uint32_t stream = host;
  /// Place in the step; of the call, if it is inside one.
  uint32_t position = 0;
  /// Place in the routine.
  uint32_t instruction = 0;
  /// Place on its stream, from 1.
  uint64_t streamPosition = 0;
};

/// Bytes with one history: the last write, the buffer instance it was for, and
/// for each stream the last read since.
struct Segment {
  int64_t end = 0;
  uint64_t instance = 0;
  Use write;
  llvm::SmallVector<Use, 1> reads;
};

/// The written parts of one memory as disjoint segments by address. Writes
/// merge what they cover, so the map stays as coarse as the buffers are.
class MemoryMap {
public:
  using Visitor = llvm::function_ref<bool(int64_t begin, const Segment &)>;

  /// Notes that `use` reads [begin, end), after `visit` has seen the segments
  /// that hold these bytes, in order. Stops at once when it returns false.
  bool read(int64_t begin, int64_t end, const Use &use, Visitor visit);

  /// Puts one new segment at [begin, end), after `visit` has seen what it
  /// replaces.
  bool write(int64_t begin, int64_t end, uint64_t instance, const Use &use,
             Visitor visit);

private:
  using Map = std::map<int64_t, Segment>;

  /// The first segment that ends behind `address`.
  Map::iterator find(int64_t address);
  /// Cuts a segment in two so that one begins at `address`, which is inside.
  Map::iterator split(Map::iterator segment, int64_t address);

  Map segments;
};

} // namespace mf::program

#endif // MF_LIB_PROGRAM_MEMORYMAP_H
