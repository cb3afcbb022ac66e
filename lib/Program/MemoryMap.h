//===- MemoryMap.h - Owners of ranges of memory -----------------*- C++ -*-===//

#ifndef MF_LIB_PROGRAM_MEMORYMAP_H
#define MF_LIB_PROGRAM_MEMORYMAP_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <map>
#include <vector>

namespace mf::program {

/// One instruction of the expanded step as the user of some memory.
struct Use {
  /// `host` stands for the host's writes before the step.
  static constexpr uint32_t host = ~uint32_t{0};

  uint32_t stream = host;
  /// Place in the step; of the call, if it is inside one.
  uint32_t position = 0;
  /// Place in the routine.
  uint32_t instruction = 0;
  /// Place on its stream, from 1.
  uint32_t streamPosition = 0;
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
/// merge what they cover, so the map stays as coarse as the buffers are. Most
/// uses begin and end where a segment does: those are found without a search,
/// and their neighbours are not looked at.
class MemoryMap {
public:
  using Visitor = llvm::function_ref<bool(int64_t begin, const Segment &)>;

  /// Visits the segments that hold bytes of [begin, end), in order. Stops at
  /// once when `visit` returns false; returns whether it never did.
  bool visit(int64_t begin, int64_t end, Visitor visit);
  bool visitAll(Visitor visit) const;

  /// Notes that `use` reads [begin, end), after `visit` has seen the segments
  /// that hold these bytes, in order. Stops at once when it returns false.
  bool read(int64_t begin, int64_t end, const Use &use, Visitor visit);

  /// Puts one new segment at [begin, end), after `visit` has seen the segments
  /// that it replaces.
  bool write(int64_t begin, int64_t end, uint64_t instance, const Use &use,
             Visitor visit);

private:
  using Map = std::map<int64_t, Segment>;

  /// Where a segment that began at an address was found last; it is forgotten
  /// before the segment goes.
  struct Known {
    int64_t begin = -1;
    Map::iterator segment;
  };
  static constexpr size_t numKnown = 4096;

  /// The first segment that ends behind `address`.
  Map::iterator find(int64_t address);
  Known &getKnown(int64_t begin);
  /// Nothing begins there any more.
  void forget(int64_t begin);
  /// Cuts a segment in two so that one begins at `address`, which is inside.
  Map::iterator split(Map::iterator segment, int64_t address);

  Map segments;
  std::vector<Known> known = std::vector<Known>(numKnown);
};

} // namespace mf::program

#endif // MF_LIB_PROGRAM_MEMORYMAP_H
