//===- PackMemo.cpp - Cache of packings -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Memory/PackMemo.h"
#include "lib/Program/Memory/search/PackSearch.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include <mutex>
#include <unordered_map>

namespace mf::memory {

struct PackMemo::Entry {
  PackProblem problem;
  int64_t goodPeak, heuristicWork, searchWork;
  /// Held while the packing is computed.
  std::mutex isPacking;
  std::optional<GradualPacking> packing;
};

struct PackMemo::Entries {
  std::mutex isUsing;
  /// The entries by a hash of their keys.
  std::unordered_multimap<size_t, std::unique_ptr<Entry>> byHash;
};

PackMemo::PackMemo() : entries(std::make_unique<Entries>()) {}
PackMemo::~PackMemo() = default;

static auto getNumbers(const PackItem &item) {
  return std::make_tuple(item.begin, item.end, item.size, item.alignment,
                         item.fixedOffset, item.hint);
}

static bool isSame(const PackProblem &one, const PackProblem &other) {
  return one.numSections == other.numSections && one.walls == other.walls &&
         llvm::equal(one.items, other.items,
                     [](const PackItem &left, const PackItem &right) {
                       return getNumbers(left) == getNumbers(right);
                     });
}

static size_t hashProblem(const PackProblem &problem) {
  llvm::hash_code hash = llvm::hash_value(problem.numSections);
  for (const PackItem &item : problem.items)
    hash = llvm::hash_combine(hash, getNumbers(item));
  return hash;
}

PackMemo::Entry &PackMemo::getEntry(const PackProblem &problem,
                                    int64_t goodPeak, int64_t heuristicWork,
                                    int64_t searchWork) {
  const size_t hash = hashProblem(problem);
  const std::lock_guard<std::mutex> lock(entries->isUsing);
  const auto [begin, end] = entries->byHash.equal_range(hash);
  for (auto found = begin; found != end; ++found) {
    Entry &entry = *found->second;
    if (entry.goodPeak == goodPeak && entry.heuristicWork == heuristicWork &&
        entry.searchWork == searchWork && isSame(entry.problem, problem))
      return entry;
  }
  auto entry = std::make_unique<Entry>();
  entry->problem = problem;
  entry->goodPeak = goodPeak;
  entry->heuristicWork = heuristicWork;
  entry->searchWork = searchWork;
  return *entries->byHash.emplace(hash, std::move(entry))->second;
}

PackResult PackMemo::pack(const PackProblem &problem, int64_t goodPeak,
                          int64_t acceptablePeak, int64_t heuristicWork,
                          int64_t searchWork) {
  Entry &entry = getEntry(problem, goodPeak, heuristicWork, searchWork);
  const std::lock_guard<std::mutex> lock(entry.isPacking);
  if (!entry.packing)
    entry.packing.emplace(entry.problem, goodPeak, WorkBudget(heuristicWork),
                          WorkBudget(searchWork));
  return entry.packing->get(acceptablePeak);
}

} // namespace mf::memory
