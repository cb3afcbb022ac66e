//===- AllocationProblem.h - Static memory allocation ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The problem of assigning each buffer with a known lifetime an offset in one
// arena, such that no two buffers that are live at the same time overlap.
// AllocationPlan.h solves it. This class defines well-formed problems and legal
// solutions.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_MEMORY_ALLOCATIONPROBLEM_H
#define MF_PROGRAM_MEMORY_ALLOCATIONPROBLEM_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mf::memory {

/// A buffer of `size` bytes that is live in [lower, upper). Time has no unit:
/// only the order of its points matters.
struct AllocationBuffer {
  std::string id;
  int64_t lower = 0;
  int64_t upper = 0;
  int64_t size = 0;
  /// The offset must be a multiple of it. Any positive number is allowed.
  int64_t alignment = 1;
  /// The offset that the buffer must have, if any.
  std::optional<int64_t> fixedOffset;
  /// An offset that was good in a similar problem. Solvers try it first and
  /// are free to choose another.
  std::optional<int64_t> hint;
};

/// A lower bound on the arena, and a time at which it is reached.
struct LiveBound {
  int64_t bytes = 0;
  int64_t time = 0;
};

/// Buffers, and the size of the arena if it is limited.
struct AllocationProblem {
  std::vector<AllocationBuffer> buffers;
  std::optional<int64_t> capacity;

  /// Tells whether the problem is well-formed: names are unique and hold no
  /// line break, lifetimes are not empty, sizes are not negative and their sum
  /// cannot overflow, alignments are positive, fixed offsets are aligned and do
  /// not contradict each other. A buffer of size zero is allowed. The error
  /// names the buffer.
  llvm::Error check() const;

  /// Returns the largest sum of sizes live at one time, and the first such
  /// time. Each size is rounded up to the greatest common divisor of all
  /// alignments, and the bytes that the topmost buffer may leave unused are
  /// subtracted. The problem must be well-formed.
  LiveBound maxLive() const;

  /// Checks that `offsets` (one per buffer, in order) solve the problem:
  /// buffers do not overlap in time and address, alignments and fixed offsets
  /// are honoured, and all buffers are within the capacity. The error names the
  /// buffers. Takes O(n log n).
  llvm::Error verify(llvm::ArrayRef<int64_t> offsets) const;

  /// Returns the highest end of a buffer at the given offsets, in bytes.
  int64_t getPeak(llvm::ArrayRef<int64_t> offsets) const;
};

} // namespace mf::memory

#endif // MF_PROGRAM_MEMORY_ALLOCATIONPROBLEM_H
