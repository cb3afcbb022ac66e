//===- AddressMap.h - Occupied ranges of an address space -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PROGRAM_MEMORY_PACKING_ADDRESSMAP_H
#define MF_LIB_PROGRAM_MEMORY_PACKING_ADDRESSMAP_H

#include <cstdint>
#include <map>
#include <optional>

namespace mf::memory {

/// Disjoint address ranges, each with an owner.
template <typename Owner> class AddressMap {
public:
  /// Adds [offset, offset + size) with size > 0. If it overlaps another range,
  /// nothing is added and the owner of such a range is returned.
  std::optional<Owner> insert(int64_t offset, int64_t size, Owner owner) {
    auto after = ranges.lower_bound(offset);
    if (after != ranges.end() && after->first < offset + size)
      return after->second.owner;
    if (after != ranges.begin()) {
      auto before = std::prev(after);
      if (before->second.end > offset)
        return before->second.owner;
    }
    ranges.emplace_hint(after, offset, Range{offset + size, owner});
    return std::nullopt;
  }
  /// Removes the range that begins at `offset`.
  void erase(int64_t offset) { ranges.erase(offset); }

private:
  struct Range {
    int64_t end;
    Owner owner;
  };
  std::map<int64_t, Range> ranges;
};

} // namespace mf::memory

#endif // MF_LIB_PROGRAM_MEMORY_PACKING_ADDRESSMAP_H
