//===- PackThenSearch.cpp - Heuristics, slots and search in turn ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Program/Memory/search/PackSearch.h"
#include <algorithm>

namespace mf::memory {

/// Returns the part of `work` that is worth spending if they save at most
/// `bytes`. Without this, small programs would be searched for as long as large
/// ones, to save bytes that no device lacks.
static int64_t getWorthwhileWork(int64_t work, int64_t bytes) {
  constexpr int64_t operationsPerByte = 16;
  return bytes < work / operationsPerByte ? bytes * operationsPerByte : work;
}

GradualPacking::GradualPacking(const PackProblem &problem, int64_t goodPeak,
                               WorkBudget heuristics, WorkBudget search)
    : problem(problem), low(goodPeak), heuristics(heuristics), search(search) {
  results.push_back(packInBestOrder(problem, goodPeak, this->heuristics));
  const int64_t savings = std::max<int64_t>(0, results.back().peak - goodPeak);
  this->search = WorkBudget(getWorthwhileWork(search.getRest(), savings));
}

void GradualPacking::keepIfBetter(std::optional<PackResult> result,
                                  llvm::StringRef packer) {
  if (!result || result->peak >= results.back().peak)
    return;
  results.push_back(std::move(*result));
  results.back().packer = packer;
}

bool GradualPacking::advance() {
  // The first attempt is for a small saving and gets a share of the work,
  // because larger savings are unlikely where it fails. The second attempt is
  // for the bound, which is often reached. Further attempts bisect the
  // remaining range.
  constexpr int attempts = 8;
  constexpr int64_t savedShare = 32, workShare = 10;
  if (!hasTriedSlots) {
    hasTriedSlots = true;
    keepIfBetter(packInSlots(problem), "slots");
    return true;
  }
  const int64_t peak = results.back().peak;
  if (attempt == attempts || search.isExhausted() || low >= peak)
    return false;
  const int64_t capacity = attempt == 0   ? peak - 1 - (peak - low) / savedShare
                           : attempt == 1 ? low
                                          : low + (peak - low) / 2;
  WorkBudget share(attempt == 0 ? search.getRest() / workShare
                                : search.getRest());
  const int64_t given = share.getRest();
  keepIfBetter(packInWindows(problem, capacity, share), "windows");
  search.spend(given - share.getRest());
  ++attempt;
  if (results.back().peak == peak) {
    low = capacity + 1;
    if (attempt == 1)
      attempt = attempts;
  }
  return true;
}

const PackResult &GradualPacking::get(int64_t acceptablePeak) {
  while (results.back().peak > acceptablePeak && advance()) {
  }
  for (const PackResult &result : results)
    if (result.peak <= acceptablePeak)
      return result;
  return results.back();
}

PackResult packThenSearch(const PackProblem &problem, int64_t goodPeak,
                          int64_t acceptablePeak, WorkBudget &heuristics,
                          WorkBudget &search) {
  GradualPacking packing(problem, goodPeak, heuristics, search);
  PackResult result = packing.get(acceptablePeak);
  heuristics = packing.getHeuristics();
  search = packing.getSearch();
  return result;
}

} // namespace mf::memory
