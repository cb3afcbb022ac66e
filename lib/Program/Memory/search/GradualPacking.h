//===- GradualPacking.h - Successively better packings ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PROGRAM_MEMORY_SEARCH_GRADUALPACKING_H
#define MF_LIB_PROGRAM_MEMORY_SEARCH_GRADUALPACKING_H

#include "lib/Program/Memory/search/PackSearch.h"
#include <vector>

namespace mf::memory {

/// A resumable form of packThenSearch(). It can be queried with another
/// acceptable peak, and then returns the same result as if that had been the
/// first query.
class GradualPacking {
public:
  /// `problem` must outlive this object.
  GradualPacking(const PackProblem &problem, int64_t goodPeak,
                 WorkBudget heuristics, WorkBudget search);

  /// Returns the first packing found that is acceptable, or the best one if
  /// there is none.
  const PackResult &get(int64_t acceptablePeak);

  /// Returns the remaining budget of the heuristics.
  WorkBudget getHeuristics() const { return heuristics; }
  WorkBudget getSearch() const { return search; }

private:
  const PackProblem &problem;
  /// No packing below this was found.
  int64_t low;
  WorkBudget heuristics, search;
  bool hasTriedSlots = false;
  int attempt = 0;
  /// The packings found, each better than the previous one.
  std::vector<PackResult> results;

  void keepIfBetter(std::optional<PackResult> result, llvm::StringRef packer);
  /// Tries the next way to pack. Returns false if there is none.
  bool advance();
};

} // namespace mf::memory

#endif // MF_LIB_PROGRAM_MEMORY_SEARCH_GRADUALPACKING_H
