//===- GradualPacking.h - Ever better packings of one problem --*- C++ -*-===//

#ifndef MF_MEMORY_GRADUALPACKING_H
#define MF_MEMORY_GRADUALPACKING_H

#include "lib/Program/Memory/search/PackSearch.h"
#include <vector>

namespace mf::memory {

/// packThenSearch() that can be asked again for another acceptable peak, and
/// then answers as if that had been asked first.
class GradualPacking {
public:
  /// `problem` must outlive this.
  GradualPacking(const PackProblem &problem, int64_t goodPeak,
                 WorkBudget heuristics, WorkBudget search);

  /// The first packing found that is acceptable; the best one if none is.
  const PackResult &get(int64_t acceptablePeak);

  /// The budgets that are left.
  WorkBudget getHeuristics() const { return heuristics; }
  WorkBudget getSearch() const { return search; }

private:
  const PackProblem &problem;
  /// No packing below was found.
  int64_t low;
  WorkBudget heuristics, search;
  bool hasTriedSlots = false;
  int attempt = 0;
  /// Each better than the one before.
  std::vector<PackResult> results;

  void keepIfBetter(std::optional<PackResult> result);
  /// Tries the next way to pack. False if there is none.
  bool advance();
};

} // namespace mf::memory

#endif // MF_MEMORY_GRADUALPACKING_H
