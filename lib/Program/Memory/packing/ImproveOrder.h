//===- ImproveOrder.h - Moves buffers at the peak forward -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PROGRAM_MEMORY_PACKING_IMPROVEORDER_H
#define MF_LIB_PROGRAM_MEMORY_PACKING_IMPROVEORDER_H

#include "Packing.h"
#include "StableSort.h"

namespace mf::memory {

/// Repeats a list heuristic, each time moving the items that exceed `goodPeak`
/// to the front of the order ("squeaky wheel": Joslin and Clements, 1999),
/// until `patience` successive attempts bring no improvement. `current` is the
/// first packing of the order. `pack(order)` packs again, and returns nothing
/// if the budget is spent.
template <typename Item, typename Pack>
void improveOrder(const std::vector<Item> &items, std::vector<int32_t> order,
                  PackResult current, int64_t goodPeak, int patience, Pack pack,
                  PackResult &best) {
  for (int failures = 0; failures < patience && best.peak > goodPeak;
       ++failures) {
    int64_t threshold = std::max(goodPeak, current.peak - 1);
    moveToFront(order, [&](int32_t index) {
      return current.offsets[index] + items[index].size > threshold;
    });
    std::optional<PackResult> result = pack(order);
    if (!result)
      return;
    current = std::move(*result);
    if (current.peak < best.peak) {
      best = current;
      failures = -1;
    }
  }
}

} // namespace mf::memory

#endif // MF_LIB_PROGRAM_MEMORY_PACKING_IMPROVEORDER_H
