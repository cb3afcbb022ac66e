//===- CopyPlacement.h - Times of copies of swapped values ------*- C++ -*-===//
//
// The timing of activation swap as plain numbers, after MindSpore: one number
// per value, its prefetch distance p, says when memory on the device is given
// back in forward (3 * p kernels behind the copy out) and taken again in
// backward (p kernels before the first reader). Copies are not counted. Knows
// no MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_LOWER_COPYPLACEMENT_H
#define MF_PASSES_LOWER_COPYPLACEMENT_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

namespace mf::passes {

/// The kernel of a task before which the device waits for a copy out that
/// starts behind kernel `kernelsBefore - 1`; the caller cuts it to the task's
/// end.
int64_t placeRelease(int64_t kernelsBefore, int64_t distance);

/// Where the copy back of a value starts whose first reader is kernel `reader`
/// of its task: before kernel `kernel` of the same task, or `ahead` kernels
/// before the task's start.
struct PrefetchPlace {
  int64_t kernel = 0;
  int64_t ahead = 0;
};
PrefetchPlace placePrefetch(int64_t reader, int64_t distance);

/// Before kernel `kernel` of task `task` in the order of a schedule.
struct SchedulePlace {
  int64_t task = 0;
  int64_t kernel = 0;

  bool operator==(const SchedulePlace &other) const {
    return task == other.task && kernel == other.kernel;
  }
};

/// The place `ahead` kernels before the start of `task`, found by walking back
/// over the tasks before it, but not into task `maker` or one before that.
/// `lengths` are the tasks' numbers of kernels.
SchedulePlace walkBack(llvm::ArrayRef<int64_t> lengths, int64_t task,
                       int64_t ahead, int64_t maker);

} // namespace mf::passes

#endif // MF_PASSES_LOWER_COPYPLACEMENT_H
