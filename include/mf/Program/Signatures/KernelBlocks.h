//===- KernelBlocks.h - Block sizes of kernels ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Block sizes of kernels that keep partial results in a workspace. The
// workspace's size and the kernel that fills it use the same numbers, which
// depend on shapes alone.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_SIGNATURES_KERNELBLOCKS_H
#define MF_PROGRAM_SIGNATURES_KERNELBLOCKS_H

#include "mf/Program/Signatures/KernelSpec.h"

namespace mf {

/// Elements of an elementwise tile: enough to hide the cost of handing it to a
/// thread, few enough to balance the load and to stay in a second-level cache.
constexpr int64_t elementsPerTile = 32768;

/// The number of elements after which a running sum is stored and restarted, to
/// keep its error small.
constexpr int64_t elementsPerSum = 4096;

/// The number of elements whose squares form one partial sum of a norm.
constexpr int64_t elementsPerNormBlock = 16 * elementsPerSum;

/// Returns the number of rows whose gradients of gamma form one partial sum of
/// aclnnRmsNormGrad. `rows` must be at least 1.
int64_t getRmsNormGradBlockRows(int64_t rows);

/// Returns the number of blocks of a sample's queries in hybrid attention. Each
/// has sums of its own for the gradients of keys.
constexpr int64_t getNumQueryBlocks(int64_t queries) {
  return queries < 4 ? queries : 4;
}

/// An element of a row that is being sorted: its sort key and its index in the
/// row.
struct SortedElement {
  uint32_t order;
  uint32_t index;
};

/// Returns the number of groups of rows that are sorted in parallel. Each group
/// sorts its rows one after another.
int64_t getSortGroups(int64_t rows);

/// A loop over one dimension, or over several adjacent ones.
struct StridedLoop {
  int64_t size, stride;
};
using StridedLoops = llvm::SmallVector<StridedLoop, 4>;

int64_t countIterations(const StridedLoops &loops);

/// Describes a sum over dimensions. The input is viewed as alternating groups
/// of kept and reduced dimensions. If the innermost group is kept, its elements
/// are summed as vectors, and a unit is one row of it. If it is reduced, a unit
/// is a run of consecutive elements, which has one sum. If the results are too
/// few to occupy several threads, the units are divided into a fixed number of
/// blocks that are summed separately in a workspace.
struct ReductionCut {
  /// Describes the sum of a tensor of shape `dims` over the dimensions that
  /// `isReduced` marks. All sizes must be at least 1.
  ReductionCut(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<bool> isReduced);

  /// The loops without the innermost group, outermost first.
  StridedLoops kept, reduced;
  int64_t inner = 1;
  bool innerIsKept = true;
  /// The number of iterations of the kept loops, and the number of results.
  int64_t outer, results;
  /// The number of units that are added for each result, and the number of
  /// pieces into which an inner run is cut.
  int64_t units, runs = 1;
  /// The number of results in one group, of groups in an inner row, and of all
  /// groups.
  int64_t strip, strips = 1, groups;
  int64_t blocks = 1;

  int64_t getWorkspaceBytes() const {
    return blocks == 1 ? 0
                       : static_cast<int64_t>(blocks * results * sizeof(float));
  }

private:
  void addLoops(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<bool> isReduced);
};

/// Returns for each dimension of input 0 whether attribute `axes` contains it.
/// Axes that do not exist are ignored. Negative ones count from the end.
llvm::SmallVector<bool, 4> getReducedDimensions(const KernelSpec &spec);

} // namespace mf

#endif // MF_PROGRAM_SIGNATURES_KERNELBLOCKS_H
