//===- SliceRuns.h - Where a rank's slice lies in the whole ----*- C++ -*-===//

#ifndef MF_RANKS_SLICERUNS_H
#define MF_RANKS_SLICERUNS_H

#include "mf/Program/Program.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mf::ranks {

/// The name of a rank in messages: "rank 3 (stage 1)".
std::string describeRank(const program::Mesh &mesh, int64_t rank);

/// The shape of the tensor of which a rank holds a slice of `shape`, or all of
/// it if there is no slice.
TensorShape getWholeShape(const TensorShape &shape,
                          const std::optional<program::Slice> &slice);
inline TensorShape getWholeShape(const program::Static &buffer) {
  return getWholeShape(buffer.shape, buffer.slice);
}

/// The elements that a rank holds of a tensor as runs of neighbouring elements
/// of the whole. Takes no memory, however many runs there are.
class SliceRuns {
public:
  /// The rank holds a tensor of `shape`, which is the slice or, without one,
  /// the whole.
  SliceRuns(const program::Mesh &mesh, const TensorShape &shape,
            const std::optional<program::Slice> &slice, int64_t rank);
  SliceRuns(const program::Mesh &mesh, const program::Static &buffer,
            int64_t rank)
      : SliceRuns(mesh, buffer.shape, buffer.slice, rank) {}

  int64_t getNumRuns() const { return numRuns; }
  /// All runs have as many elements.
  int64_t getRunElements() const { return runElements; }
  /// Where in the whole tensor run `run` begins.
  int64_t getWholeElement(int64_t run) const;

  /// The element of the whole where the slice begins, which tells slices of
  /// one kind apart.
  int64_t getFirstElement() const { return numRuns ? getWholeElement(0) : 0; }

  /// Calls `visit(whole, local, count)` for each run, or part of one, of the
  /// static's elements [begin, end): `count` elements from `local` on are those
  /// of the whole from `whole` on.
  void
  forEach(int64_t begin, int64_t end,
          llvm::function_ref<void(int64_t whole, int64_t local, int64_t count)>
              visit) const;
  /// The same for all elements.
  void
  forEach(llvm::function_ref<void(int64_t whole, int64_t local, int64_t count)>
              visit) const {
    forEach(0, numRuns * runElements, visit);
  }

  /// Copies the slice out of the bytes of the whole tensor, or into them.
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
  /// Where the slice begins.
  int64_t offset = 0;
};

} // namespace mf::ranks

#endif // MF_RANKS_SLICERUNS_H
