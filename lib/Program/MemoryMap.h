//===- MemoryMap.h - Owners of ranges of memory -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PROGRAM_MEMORYMAP_H
#define MF_LIB_PROGRAM_MEMORYMAP_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <map>
#include <vector>

namespace mf::program {

/// An instruction of the expanded step as the user of some memory.
struct Use {
  /// The value of `stream` that represents writes of the host before the step.
  static constexpr uint32_t host = ~uint32_t{0};

  uint32_t stream = host;
  /// The position in the step, of the instruction or of the call that contains
  /// it.
  uint32_t position = 0;
  /// The index in the routine.
  uint32_t instruction = 0;
  /// The position on its stream, from 1.
  uint32_t streamPosition = 0;
};

/// Bytes with the same history: the last write, the buffer instance that it was
/// made through, and for each stream the last read since.
struct Segment {
  int64_t end = 0;
  uint64_t instance = 0;
  Use write;
  llvm::SmallVector<Use, 1> reads;
};

/// The written parts of one memory as disjoint segments by address. Writes
/// merge the segments that they cover, so the map is as coarse as the buffers
/// are. Most uses begin and end where a segment does. Such segments are found
/// without a search.
class MemoryMap {
public:
  using Visitor = llvm::function_ref<bool(int64_t begin, const Segment &)>;

  /// Visits the segments with bytes of [begin, end), in order. Stops when
  /// `visit` returns false. Returns false in that case.
  bool visit(int64_t begin, int64_t end, Visitor visit);
  bool visitAll(Visitor visit) const;

  /// Records that `use` reads [begin, end), after `visit` has been called with
  /// the segments that hold these bytes, in order. Stops when it returns false.
  bool read(int64_t begin, int64_t end, const Use &use, Visitor visit);

  /// Stores one new segment at [begin, end), after `visit` has been called with
  /// the segments that it replaces.
  bool write(int64_t begin, int64_t end, uint64_t instance, const Use &use,
             Visitor visit);

private:
  using Map = std::map<int64_t, Segment>;

  /// Caches the segment that begins at an address. Entries are removed before
  /// their segment is.
  struct Known {
    int64_t begin = -1;
    Map::iterator segment;
  };
  static constexpr size_t numKnown = 4096;

  /// Returns the first segment that ends after `address`.
  Map::iterator find(int64_t address);
  Known &getKnown(int64_t begin);
  /// Removes the entry of an address at which no segment begins any more.
  void forget(int64_t begin);
  /// Splits a segment so that one begins at `address`, which must be inside of
  /// it.
  Map::iterator split(Map::iterator segment, int64_t address);

  Map segments;
  std::vector<Known> known = std::vector<Known>(numKnown);
};

} // namespace mf::program

#endif // MF_LIB_PROGRAM_MEMORYMAP_H
