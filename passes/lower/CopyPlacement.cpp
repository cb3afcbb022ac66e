//===- CopyPlacement.cpp - Times of copies of swapped values --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/lower/CopyPlacement.h"
#include <algorithm>

namespace mf::passes {

/// MindSpore waits three times the prefetch distance, in kernels, after a copy
/// out.
static constexpr int64_t releaseFactor = 3;

int64_t placeRelease(int64_t kernelsBefore, int64_t distance) {
  return kernelsBefore + releaseFactor * distance;
}

PrefetchPlace placePrefetch(int64_t reader, int64_t distance) {
  return {std::max<int64_t>(reader - distance, 0),
          std::max<int64_t>(distance - reader, 0)};
}

SchedulePlace walkBack(llvm::ArrayRef<int64_t> lengths, int64_t task,
                       int64_t ahead, int64_t maker) {
  while (ahead > 0 && task - 1 > maker) {
    --task;
    if (ahead <= lengths[task])
      return {task, lengths[task] - ahead};
    ahead -= lengths[task];
  }
  return {task, 0};
}

} // namespace mf::passes
