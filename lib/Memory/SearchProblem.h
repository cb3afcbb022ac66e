//===- SearchProblem.h - A problem made ready for search ------*- C++ -*-===//

#ifndef MF_MEMORY_SEARCHPROBLEM_H
#define MF_MEMORY_SEARCHPROBLEM_H

#include "mf/Memory/AllocationProblem.h"

namespace mf::memory {

/// A buffer alive in sections [begin, end), with its size rounded up.
struct SearchBuffer {
  int32_t begin = 0;
  int32_t end = 0;
  int64_t size = 0;
  int64_t alignment = 1;
};

/// A buffer that is where it must be.
struct Obstacle {
  int32_t begin = 0;
  int32_t end = 0;
  int64_t low = 0;
  int64_t high = 0;
};

/// The buffers to be placed and the sections that matter: those in which a set
/// of buffers is alive that is in no other section's set. Sections in between
/// add no constraint.
struct SearchProblem {
  std::vector<SearchBuffer> buffers;
  /// By buffer: its index in the allocation problem.
  std::vector<size_t> indices;
  /// In order of their low ends.
  std::vector<Obstacle> obstacles;
  int32_t numSections = 0;
  int64_t capacity = 0;
  /// All alignments are equal, so that nothing is lost to rounding.
  bool isUniform = true;
  /// A fit that does not exist for this problem does not exist at all.
  bool isExact = true;
};

/// Prepares `problem` for a search within `capacity`.
SearchProblem makeSearchProblem(const AllocationProblem &problem,
                                int64_t capacity);

} // namespace mf::memory

#endif // MF_MEMORY_SEARCHPROBLEM_H
