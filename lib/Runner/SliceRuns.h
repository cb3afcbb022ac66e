//===- SliceRuns.h - Where a rank's slice lies in the whole ----*- C++ -*-===//

#ifndef MF_LIB_RUNNER_SLICERUNS_H
#define MF_LIB_RUNNER_SLICERUNS_H

#include "mf/Program/Program.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mf::runner {

/// The shape of the tensor that a static holds a slice, or the whole, of.
TensorShape getWholeShape(const program::Static &buffer);

/// The elements of a static as runs of neighbouring elements of the whole
/// tensor, for one rank. Takes no memory, however many runs there are.
class SliceRuns {
public:
  SliceRuns(const program::Mesh &mesh, const program::Static &buffer,
            int64_t rank);

  int64_t getNumRuns() const { return numRuns; }
  /// All runs have as many elements.
  int64_t getRunElements() const { return runElements; }
  /// Where in the whole tensor run `run` begins.
  int64_t getWholeElement(int64_t run) const;

  /// Of slices of one kind, each begins elsewhere.
  int64_t getFirstElement() const { return numRuns ? getWholeElement(0) : 0; }

  /// Calls `visit(whole, local, count)` for each run, or part of one, of the
  /// static's elements [begin, end): `count` elements from `local` on are those
  /// of the whole from `whole` on.
  void
  forEach(int64_t begin, int64_t end,
          llvm::function_ref<void(int64_t whole, int64_t local, int64_t count)>
              visit) const;
  /// For all elements.
  void
  forEach(llvm::function_ref<void(int64_t whole, int64_t local, int64_t count)>
              visit) const {
    forEach(0, numRuns * runElements, visit);
  }

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

} // namespace mf::runner

#endif // MF_LIB_RUNNER_SLICERUNS_H
