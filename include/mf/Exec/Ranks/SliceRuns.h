//===- SliceRuns.h - Runs of elements of a slice ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_EXEC_RANKS_SLICERUNS_H
#define MF_EXEC_RANKS_SLICERUNS_H

#include "mf/Program/Program.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mf::ranks {

/// Returns the name of a rank for messages, for example "rank 3 (stage 1)".
std::string describeRank(const program::Mesh &mesh, int64_t rank);

/// Returns the shape of the whole tensor of which a rank holds a slice of
/// `shape`, or `shape` if there is no slice.
TensorShape getWholeShape(const TensorShape &shape,
                          const std::optional<program::Slice> &slice);
inline TensorShape getWholeShape(const program::Static &buffer) {
  return getWholeShape(buffer.shape, buffer.slice);
}

/// The elements of a tensor that a rank holds, as runs of consecutive elements
/// of the whole tensor. Takes constant memory, whatever the number of runs.
class SliceRuns {
public:
  /// The rank holds a tensor of `shape`, which is that of the slice or, without
  /// a slice, of the whole tensor.
  SliceRuns(const program::Mesh &mesh, const TensorShape &shape,
            const std::optional<program::Slice> &slice, int64_t rank);
  SliceRuns(const program::Mesh &mesh, const program::Static &buffer,
            int64_t rank)
      : SliceRuns(mesh, buffer.shape, buffer.slice, rank) {}

  int64_t getNumRuns() const { return numRuns; }
  /// Returns the number of elements in each run.
  int64_t getRunElements() const { return runElements; }
  /// Returns the index in the whole tensor at which run `run` begins.
  int64_t getWholeElement(int64_t run) const;

  /// Returns the index in the whole tensor at which the slice begins. It
  /// distinguishes slices of one shape.
  int64_t getFirstElement() const { return numRuns ? getWholeElement(0) : 0; }

  /// Calls `visit(whole, local, count)` for each run, or part of a run, in the
  /// static's elements [begin, end): `count` elements from index `local` on are
  /// those of the whole tensor from index `whole` on.
  void
  forEach(int64_t begin, int64_t end,
          llvm::function_ref<void(int64_t whole, int64_t local, int64_t count)>
              visit) const;
  /// Visits all elements.
  void
  forEach(llvm::function_ref<void(int64_t whole, int64_t local, int64_t count)>
              visit) const {
    forEach(0, numRuns * runElements, visit);
  }

  /// Copy the slice from the bytes of the whole tensor, or into them.
  void take(llvm::ArrayRef<uint8_t> whole, llvm::MutableArrayRef<uint8_t> slice,
            int64_t elementBytes) const;
  void put(llvm::ArrayRef<uint8_t> slice, llvm::MutableArrayRef<uint8_t> whole,
           int64_t elementBytes) const;

private:
  /// A dimension outside of the runs.
  struct Dimension {
    int64_t extent = 1;
    int64_t wholeStride = 1;
  };
  llvm::SmallVector<Dimension, 4> outer;
  int64_t numRuns = 1;
  int64_t runElements = 1;
  /// The index in the whole tensor at which the slice begins.
  int64_t offset = 0;
};

} // namespace mf::ranks

#endif // MF_EXEC_RANKS_SLICERUNS_H
