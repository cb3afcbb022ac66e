//===- SearchProblem.h - A problem prepared for search ----------*- C++ -*-===//

#ifndef MF_MEMORY_SEARCHPROBLEM_H
#define MF_MEMORY_SEARCHPROBLEM_H

#include "lib/Program/Memory/packing/Packing.h"

namespace mf::memory {

/// A buffer alive in sections [begin, end), with its size rounded up.
struct SearchBuffer {
  int32_t begin = 0;
  int32_t end = 0;
  int64_t size = 0;
  int64_t alignment = 1;
};

/// Addresses that are taken. If `low` equals `high` it takes nothing, but no
/// buffer may straddle it.
struct Obstacle {
  int32_t begin = 0;
  int32_t end = 0;
  int64_t low = 0;
  int64_t high = 0;
};

/// The items to be placed and the sections that matter: those in which a set
/// of buffers is alive that is in no other section's set. Sections in between
/// add no constraint.
struct SearchProblem {
  /// Buffers in the order of their begins.
  std::vector<SearchBuffer> buffers;
  /// By buffer: its index in the packing problem.
  std::vector<size_t> indices;
  /// Obstacles in the order of their low ends.
  std::vector<Obstacle> obstacles;
  int32_t numSections = 0;
  /// By section, and one past the last: how many buffers begin before it, and
  /// where the last of those to end does.
  std::vector<int32_t> numBegunBefore;
  std::vector<int32_t> lastEndBefore;
  int64_t capacity = 0;
  /// All alignments are equal, so that nothing is lost to rounding.
  bool isUniform = true;
  /// A fit that does not exist for this problem does not exist at all.
  bool isExact = true;
};

/// Prepares `pack` for a search within `capacity`.
SearchProblem makeSearchProblem(const PackProblem &pack, int64_t capacity);

} // namespace mf::memory

#endif // MF_MEMORY_SEARCHPROBLEM_H
