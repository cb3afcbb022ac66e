//===- Skyline.h - A partial packing built from below ---------*- C++ -*-===//

#ifndef MF_MEMORY_SKYLINE_H
#define MF_MEMORY_SKYLINE_H

#include "SearchProblem.h"
#include <limits>

namespace mf::memory {

/// A stretch of sections, and the buffers left in it: a range of the skyline's
/// list of buffers. No buffer left spans its ends.
struct Stretch {
  int32_t begin = 0;
  int32_t end = 0;
  int32_t firstBuffer = 0;
  int32_t lastBuffer = 0;
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

  /// All sections and buffers.
  Stretch getWhole() const {
    return {0, problem.numSections, 0,
            static_cast<int32_t>(problem.buffers.size())};
  }
  llvm::ArrayRef<int32_t> getBuffers(const Stretch &stretch) const {
    return llvm::ArrayRef<int32_t>(left).slice(
        stretch.firstBuffer, stretch.lastBuffer - stretch.firstBuffer);
  }

  /// Infers what it can about the stretch. False if it cannot be completed.
  bool propagate(const Stretch &stretch);

  /// The parts of the stretch that no buffer left spans, without those in which
  /// nothing is left.
  std::vector<Stretch> split(const Stretch &stretch);

  /// Puts the buffer at `offset`; returns the stretch without it.
  Stretch place(const Stretch &stretch, int32_t buffer, int64_t offset);

  /// The lowest offset at which a buffer left in a valley's section can be if
  /// none of them is at the bottom of the valley.
  int64_t getHeightAboveBottom(const Stretch &stretch, int32_t section);

  /// Leaves the section empty up to `height`.
  void raise(int32_t section, int64_t height);

  using Mark = size_t;
  Mark getMark() const { return trail.size(); }
  void undo(Mark mark);

  StateHash getHash(const Stretch &stretch) const;

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
  /// What a section was before a change.
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
  int64_t findLowest(const SearchBuffer &buffer) const;
  int64_t getObstaclesAbove(int32_t section) const;
  bool raiseFloors(const Stretch &stretch, bool &changed);
  bool isDominated(const Stretch &stretch) const;

  const SearchProblem &problem;
  std::vector<int64_t> floors;
  /// Where the highest placed buffer of the section ends; the floor is above
  /// it if space was left empty.
  std::vector<int64_t> tops;
  std::vector<int64_t> bytesLeft;
  std::vector<int64_t> lowest;
  std::vector<int64_t> offsets;
  /// The buffers, those left in a stretch being a range; and where each is.
  std::vector<int32_t> left;
  std::vector<int32_t> positions;
  std::vector<Change> trail;
  /// By section: obstacles that touch it.
  std::vector<std::vector<int32_t>> obstaclesOf;
  std::vector<StateHash> bufferHashes;
  /// Scratch, by section.
  std::vector<int64_t> raised;
  std::vector<int32_t> spanning;
  int64_t work = 0;
};

} // namespace mf::memory

#endif // MF_MEMORY_SKYLINE_H
