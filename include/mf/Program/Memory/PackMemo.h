//===- PackMemo.h - Cache of packings ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PROGRAM_MEMORY_PACKMEMO_H
#define MF_PROGRAM_MEMORY_PACKMEMO_H

#include <cstdint>
#include <memory>

namespace mf::memory {

struct PackProblem;
struct PackResult;

/// Caches how frames and scratch were packed, for use by stages and steps that
/// have the same chunks. It does not change plans. Safe to use from several
/// threads.
class PackMemo {
public:
  PackMemo();
  ~PackMemo();

  /// Packs as packThenSearch() does with budgets of the given work.
  PackResult pack(const PackProblem &problem, int64_t goodPeak,
                  int64_t acceptablePeak, int64_t heuristicWork,
                  int64_t searchWork);

private:
  struct Entry;
  struct Entries;

  Entry &getEntry(const PackProblem &problem, int64_t goodPeak,
                  int64_t heuristicWork, int64_t searchWork);

  std::unique_ptr<Entries> entries;
};

} // namespace mf::memory

#endif // MF_PROGRAM_MEMORY_PACKMEMO_H
