//===- CopyPlacement.h - Times of copies of swapped values ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The timing of activation swap as plain numbers, as in MindSpore. Each value
// has one number, its prefetch distance p. It determines when the memory on the
// device is released in forward (3 * p kernels after the copy out) and
// allocated again in backward (p kernels before the first reader). Copies do
// not count as kernels. This file does not depend on MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_LOWER_COPYPLACEMENT_H
#define MF_PASSES_LOWER_COPYPLACEMENT_H

#include "llvm/ADT/ArrayRef.h"
#include <algorithm>
#include <cstdint>

namespace mf::passes {

/// Returns the kernel of a task before which the device waits for a copy out
/// that starts after kernel `kernelsBefore - 1`. It may be beyond the end of
/// the task; the caller limits it.
inline int64_t placeRelease(int64_t kernelsBefore, int64_t distance) {
  // MindSpore waits three times the prefetch distance, in kernels.
  return kernelsBefore + 3 * distance;
}

/// The start of the copy back of a value whose first reader is kernel `reader`
/// of a task: before kernel `kernel` of the same task, or `ahead` kernels
/// before that task starts.
struct PrefetchPlace {
  int64_t kernel = 0;
  int64_t ahead = 0;
};
inline PrefetchPlace placePrefetch(int64_t reader, int64_t distance) {
  return {std::max<int64_t>(reader - distance, 0),
          std::max<int64_t>(distance - reader, 0)};
}

/// The point before kernel `kernel` of task `task` in the order of a schedule.
struct SchedulePlace {
  int64_t task = 0;
  int64_t kernel = 0;

  bool operator==(const SchedulePlace &other) const {
    return task == other.task && kernel == other.kernel;
  }
};

/// Returns the point `ahead` kernels before the start of `task`. It is found by
/// walking back over the preceding tasks, but not into task `maker` or an
/// earlier one. `lengths` are the numbers of kernels of the tasks.
inline SchedulePlace walkBack(llvm::ArrayRef<int64_t> lengths, int64_t task,
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

#endif // MF_PASSES_LOWER_COPYPLACEMENT_H
