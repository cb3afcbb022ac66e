//===- Packings.h - The contents of a PackMemo ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PROGRAM_MEMORY_STEP_PACKINGS_H
#define MF_LIB_PROGRAM_MEMORY_STEP_PACKINGS_H

#include "lib/Program/Memory/search/GradualPacking.h"
#include "mf/Program/Memory/PackMemo.h"
#include <mutex>
#include <unordered_map>

namespace mf::memory {

class PackMemo::Packings {
public:
  /// Packs like packThenSearch() with budgets of the given work.
  PackResult pack(const PackProblem &problem, int64_t goodPeak,
                  int64_t acceptablePeak, int64_t heuristicWork,
                  int64_t searchWork);

private:
  struct Entry {
    PackProblem problem;
    int64_t goodPeak, heuristicWork, searchWork;
    /// Held while the packing is computed.
    std::mutex isPacking;
    std::optional<GradualPacking> packing;
  };

  std::mutex isUsing;
  /// The entries by a hash of their keys.
  std::unordered_multimap<size_t, std::unique_ptr<Entry>> entries;

  Entry &getEntry(const PackProblem &problem, int64_t goodPeak,
                  int64_t heuristicWork, int64_t searchWork);
};

} // namespace mf::memory

#endif // MF_LIB_PROGRAM_MEMORY_STEP_PACKINGS_H
