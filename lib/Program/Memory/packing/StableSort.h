//===- StableSort.h - Sorting indices -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PROGRAM_MEMORY_PACKING_STABLESORT_H
#define MF_LIB_PROGRAM_MEMORY_PACKING_STABLESORT_H

#include <algorithm>
#include <iterator>
#include <numeric>
#include <vector>

namespace mf::memory {

/// Sorts indices by `less`, and equal ones by their value.
template <typename Index, typename Less>
void sortIndices(std::vector<Index> &indices, Less less) {
  std::sort(indices.begin(), indices.end(), [&](Index a, Index b) {
    if (less(a, b))
      return true;
    if (less(b, a))
      return false;
    return a < b;
  });
}

/// Returns the indices 0 to count - 1, sorted by `less`.
template <typename Index, typename Less>
std::vector<Index> getSortedIndices(size_t count, Less less) {
  std::vector<Index> indices(count);
  std::iota(indices.begin(), indices.end(), 0);
  sortIndices(indices, less);
  return indices;
}

/// Moves the indices for which `goesFirst` is true to the front, and keeps the
/// order otherwise. (std::stable_partition uses features that are deprecated in
/// C++17.)
template <typename Index, typename Predicate>
void moveToFront(std::vector<Index> &indices, Predicate goesFirst) {
  std::vector<Index> next;
  next.reserve(indices.size());
  for (bool isFirst : {true, false})
    std::copy_if(indices.begin(), indices.end(), std::back_inserter(next),
                 [&](Index index) { return goesFirst(index) == isFirst; });
  indices = std::move(next);
}

} // namespace mf::memory

#endif // MF_LIB_PROGRAM_MEMORY_PACKING_STABLESORT_H
