//===- Skyline.h - A partial packing built from below ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PROGRAM_MEMORY_SEARCH_SKYLINE_H
#define MF_LIB_PROGRAM_MEMORY_SEARCH_SKYLINE_H

#include "lib/Program/Memory/packing/Packing.h"
#include <limits>

namespace mf::memory {

/// A buffer that is live in sections [begin, end), with its size rounded up.
struct SearchBuffer {
  int32_t begin = 0;
  int32_t end = 0;
  int64_t size = 0;
  int64_t alignment = 1;
};

/// Occupied addresses. If `low` equals `high` it occupies none, but no buffer
/// may straddle it.
struct Obstacle {
  int32_t begin = 0;
  int32_t end = 0;
  int64_t low = 0;
  int64_t high = 0;
};

/// The items to be placed, and the sections that matter: those in which a set
/// of buffers is live that is not a subset of another section's set. Other
/// sections add no constraint.
struct SearchProblem {
  /// The buffers in the order of their begins.
  std::vector<SearchBuffer> buffers;
  /// For each buffer, its index in the packing problem.
  std::vector<size_t> indices;
  /// The obstacles in the order of their low ends.
  std::vector<Obstacle> obstacles;
  int32_t numSections = 0;
  /// For each section, and one past the last: the number of buffers that begin
  /// before it, and the highest end of these buffers.
  std::vector<int32_t> numBegunBefore;
  std::vector<int32_t> lastEndBefore;
  int64_t capacity = 0;
  /// True if all alignments are equal, so that rounding loses nothing.
  bool isUniform = true;
  /// True if a fit that does not exist for this problem does not exist at all.
  bool isExact = true;
};

/// Prepares `pack` for a search within `capacity`.
SearchProblem makeSearchProblem(const PackProblem &pack, int64_t capacity);

/// A stretch of sections into which no remaining buffer extends from outside,
/// and the number of buffers to consider from its begin on.
struct Stretch {
  int32_t begin = 0;
  int32_t end = 0;
  int32_t horizon = 0;
};

/// The part of a stretch that is considered: its sections up to `end`, the
/// buffers that begin in them (a range of the problem's buffers, some of which
/// may be placed already), and the section at which the last of those ends.
/// Nothing beyond that has been changed.
struct View {
  int32_t begin = 0;
  int32_t end = 0;
  int32_t firstBuffer = 0;
  int32_t lastBuffer = 0;
  int32_t lastEnd = 0;
};

/// A 128-bit hash that identifies a state.
struct StateHash {
  uint64_t low = 0;
  uint64_t high = 0;
  bool operator==(const StateHash &other) const {
    return low == other.low && high == other.high;
  }
};

/// The heights that the sections have reached, the remaining buffers, and data
/// derived from them. Changes can be undone.
class Skyline {
public:
  explicit Skyline(const SearchProblem &problem);

  /// Removes all placements.
  void reset();

  View getView(const Stretch &stretch) const;
  /// Returns whether all buffers of the view are placed.
  bool isComplete(const View &view) const;

  bool isPlaced(int32_t buffer) const { return offsets[buffer] >= 0; }

  /// Infers bounds in the view. Returns false if there is no solution.
  bool propagate(const View &view);

  /// If no remaining buffer spans some border within the view, returns the
  /// parts of the stretch, without those in which no buffer remains.
  std::vector<Stretch> split(const Stretch &stretch, const View &view);

  /// Places the buffer at `offset`.
  void place(int32_t buffer, int64_t offset);

  /// Returns the lowest offset that a remaining buffer in a valley's section
  /// can have if none is at the bottom of the valley.
  int64_t getHeightAboveBottom(const View &view, int32_t section);

  /// Leaves the section empty up to `height`.
  void raise(int32_t section, int64_t height);

  using Mark = size_t;
  Mark getMark() const { return trail.size(); }
  void undo(Mark mark);

  StateHash getHash(const View &view) const;

  /// Returns a lower bound on the offset of the next buffer in the section.
  int64_t getFloor(int32_t section) const { return floors[section]; }
  /// Returns the bytes of the remaining buffers in the section.
  int64_t getLeft(int32_t section) const { return bytesLeft[section]; }
  /// Returns the bytes that may still be left empty in the section.
  int64_t getSlack(int32_t section) const {
    return problem.capacity - floors[section] - bytesLeft[section] -
           getObstaclesAbove(section);
  }
  /// Returns the floor, or the sky if no buffer remains in the section.
  int64_t getHeight(int32_t section) const {
    return bytesLeft[section] > 0 ? floors[section]
                                  : std::numeric_limits<int64_t>::max();
  }
  /// Returns the lowest offset of a remaining buffer, as of the last
  /// propagate().
  int64_t getLowest(int32_t buffer) const { return lowest[buffer]; }
  /// Returns the offset of a placed buffer.
  int64_t getOffset(int32_t buffer) const { return offsets[buffer]; }

  /// Returns the elementary operations spent so far.
  int64_t getWork() const { return work; }

private:
  /// The former state of a section, or (as -1 - index) a buffer that was
  /// placed.
  struct Change {
    int32_t section;
    int64_t floor;
    int64_t top;
    int64_t left;
  };
  /// An obstacle in a section, and the bytes of those above it.
  struct SectionObstacle {
    int64_t low;
    int64_t high;
    int64_t above;
  };
  void save(int32_t section) {
    trail.push_back(
        {section, floors[section], tops[section], bytesLeft[section]});
  }
  int64_t findLowest(int32_t index) const;
  int64_t getObstaclesAbove(int32_t section) const;
  bool raiseFloors(const View &view);
  bool isDominated(const View &view) const;

  const SearchProblem &problem;
  std::vector<int64_t> floors;
  /// For each section, the end of its highest placed buffer. The floor is above
  /// it if space was left empty.
  std::vector<int64_t> tops;
  std::vector<int64_t> bytesLeft;
  std::vector<int64_t> lowest;
  /// The offset of each buffer; -1 if it is not placed yet.
  std::vector<int64_t> offsets;
  std::vector<Change> trail;
  /// For each section, the obstacles that touch it, from the highest on.
  std::vector<std::vector<SectionObstacle>> obstaclesOf;
  /// For each buffer, the address ranges that it cannot touch because obstacles
  /// are live at the same time, ascending.
  std::vector<std::vector<AddressRange>> blocked;
  std::vector<StateHash> bufferHashes;
  /// The size of the smallest buffer.
  int64_t smallest;
  /// Temporary values, by section.
  std::vector<int64_t> raised;
  std::vector<int32_t> spanning;
  int64_t work = 0;
};

} // namespace mf::memory

#endif // MF_LIB_PROGRAM_MEMORY_SEARCH_SKYLINE_H
