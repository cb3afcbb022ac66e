//===- Skyline.h - A partial packing built from below ---------*- C++ -*-===//

#ifndef MF_MEMORY_SKYLINE_H
#define MF_MEMORY_SKYLINE_H

#include "SearchProblem.h"
#include <limits>

namespace mf::memory {

/// A stretch of sections that no buffer left reaches into from outside, and how
/// many buffers to look at from its begin on.
struct Stretch {
  int32_t begin = 0;
  int32_t end = 0;
  int32_t horizon = 0;
};

/// The part of a stretch that is looked at: its sections up to `end`, the
/// buffers that begin in them (a range of the problem's, of which some may be
/// placed already), and the section at which the last of those ends. Nothing
/// beyond that has been touched.
struct View {
  int32_t begin = 0;
  int32_t end = 0;
  int32_t firstBuffer = 0;
  int32_t lastBuffer = 0;
  int32_t lastEnd = 0;
};

/// 128 bits that tell states apart.
struct StateHash {
  uint64_t low = 0;
  uint64_t high = 0;
  bool operator==(const StateHash &other) const {
    return low == other.low && high == other.high;
  }
};

/// The heights that the sections have reached, the buffers left, and what
/// follows from them. Changes can be undone.
class Skyline {
public:
  explicit Skyline(const SearchProblem &problem);

  /// Forgets all placements.
  void reset();

  View getView(const Stretch &stretch) const;
  /// Whether all buffers of the view are placed.
  bool isComplete(const View &view) const;

  bool isPlaced(int32_t buffer) const { return offsets[buffer] >= 0; }

  /// Infers bounds in the view. False if there is no solution.
  bool propagate(const View &view);

  /// Where the view shows that the stretch falls into parts that no buffer left
  /// spans: the parts, without those in which nothing is left.
  std::vector<Stretch> split(const Stretch &stretch, const View &view);

  /// Puts the buffer at `offset`.
  void place(int32_t buffer, int64_t offset);

  /// The lowest offset at which a buffer left in a valley's section can be if
  /// none of them is at the bottom of the valley.
  int64_t getHeightAboveBottom(const View &view, int32_t section);

  /// Leaves the section empty up to `height`.
  void raise(int32_t section, int64_t height);

  using Mark = size_t;
  Mark getMark() const { return trail.size(); }
  void undo(Mark mark);

  StateHash getHash(const View &view) const;

  /// Lower bound on the offset of whatever is placed next in the section.
  int64_t getFloor(int32_t section) const { return floors[section]; }
  /// Bytes of the buffers left in the section.
  int64_t getLeft(int32_t section) const { return bytesLeft[section]; }
  /// Bytes that may still be left empty in the section.
  int64_t getSlack(int32_t section) const {
    return problem.capacity - floors[section] - bytesLeft[section] -
           getObstaclesAbove(section);
  }
  /// The floor, or the sky if nothing is left in the section.
  int64_t getHeight(int32_t section) const {
    return bytesLeft[section] > 0 ? floors[section]
                                  : std::numeric_limits<int64_t>::max();
  }
  /// Lowest offset of a buffer left, as of the last propagate().
  int64_t getLowest(int32_t buffer) const { return lowest[buffer]; }
  /// Offset of a placed buffer.
  int64_t getOffset(int32_t buffer) const { return offsets[buffer]; }

  /// Elementary steps spent so far.
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
  /// Where the highest placed buffer of the section ends; the floor is above
  /// it if space was left empty.
  std::vector<int64_t> tops;
  std::vector<int64_t> bytesLeft;
  std::vector<int64_t> lowest;
  /// Offsets by buffer, -1 if it is not placed yet.
  std::vector<int64_t> offsets;
  std::vector<Change> trail;
  /// By section: obstacles that touch it.
  std::vector<std::vector<int32_t>> obstaclesOf;
  /// By buffer: obstacles alive at some time with it, by their low ends.
  std::vector<std::vector<Obstacle>> obstaclesBeside;
  std::vector<StateHash> bufferHashes;
  /// Size of the smallest buffer.
  int64_t smallest;
  /// Scratch, by section.
  std::vector<int64_t> raised;
  std::vector<int32_t> spanning;
  int64_t work = 0;
};

} // namespace mf::memory

#endif // MF_MEMORY_SKYLINE_H
