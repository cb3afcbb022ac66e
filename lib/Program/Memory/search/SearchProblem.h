//===- SearchProblem.h - A problem prepared for search ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PROGRAM_MEMORY_SEARCH_SEARCHPROBLEM_H
#define MF_LIB_PROGRAM_MEMORY_SEARCH_SEARCHPROBLEM_H

#include "lib/Program/Memory/packing/Packing.h"

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

} // namespace mf::memory

#endif // MF_LIB_PROGRAM_MEMORY_SEARCH_SEARCHPROBLEM_H
