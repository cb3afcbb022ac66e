//===- KernelBlocks.h - Block sizes of kernels ------------------*- C++ -*-===//
//
// Cuts whose partial results lie in a workspace: the workspace's size and the
// kernel that fills it follow from the same numbers, which depend on the shapes
// alone.
//
//===----------------------------------------------------------------------===//

#ifndef MF_SIGNATURES_KERNELBLOCKS_H
#define MF_SIGNATURES_KERNELBLOCKS_H

#include "mf/Program/Signatures/KernelSpec.h"

namespace mf {

/// Elements of an elementwise tile: large enough to hide the hand-over to a
/// thread, small enough to share evenly and to stay in a second-level cache.
constexpr int64_t elementsPerTile = 32768;

/// Elements after which a running sum is set aside, to keep its error small.
constexpr int64_t elementsPerSum = 4096;

/// Elements whose squares are added up to one partial sum of a norm.
constexpr int64_t elementsPerNormBlock = 16 * elementsPerSum;

/// Rows whose gradients of gamma are added up to one partial sum of
/// aclnnRmsNormGrad; `rows` is at least 1.
int64_t getRmsNormGradBlockRows(int64_t rows);

/// An element of a row that is being sorted: a number in whose order rows are
/// sorted, and where the element came from.
struct SortedElement {
  uint32_t order;
  uint32_t index;
};

/// Groups of rows that are sorted side by side, one row after another in each.
int64_t getSortGroups(int64_t rows);

/// Loops over a dimension, or over several that lie together.
struct StridedLoop {
  int64_t size, stride;
};
using StridedLoops = llvm::SmallVector<StridedLoop, 4>;

int64_t countIterations(const StridedLoops &loops);

/// A sum over dimensions. The input is seen as alternating groups of kept and
/// reduced dimensions. If the innermost group is kept, its elements are summed
/// as vectors, one "unit" a row; if it is reduced, a unit is a run of
/// consecutive elements and has one sum. Where the results are too few to
/// occupy several threads, the units are cut into a fixed number of blocks that
/// are summed separately, in a workspace.
struct ReductionCut {
  /// `dims` are at least 1; `isReduced` has an entry for each.
  ReductionCut(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<bool> isReduced);

  /// The loops outermost first, without the innermost group.
  StridedLoops kept, reduced;
  int64_t inner = 1;
  bool innerIsKept = true;
  /// Iterations of the kept loops; results in all.
  int64_t outer, results;
  /// Units that are added up for each result, and pieces of an inner run.
  int64_t units, runs = 1;
  /// Results of one group, groups of an inner row, and groups in all.
  int64_t strip, strips = 1, groups;
  int64_t blocks = 1;

  int64_t getWorkspaceBytes() const {
    return blocks == 1 ? 0 : blocks * results * sizeof(float);
  }

private:
  void addLoops(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<bool> isReduced);
};

/// For each dimension of input 0 whether attribute `axes` has it; axes that do
/// not exist are left out, negative ones count from the end.
llvm::SmallVector<bool, 4> getReducedDimensions(const KernelSpec &spec);

} // namespace mf

#endif // MF_SIGNATURES_KERNELBLOCKS_H
