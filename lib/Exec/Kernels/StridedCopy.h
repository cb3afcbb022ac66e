//===- StridedCopy.h - Strided copies of elements ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_KERNELS_STRIDEDCOPY_H
#define MF_LIB_EXEC_KERNELS_STRIDEDCOPY_H

#include "mf/Exec/Kernels/ThreadPool.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace mf {

/// A copy between two strided tensors, as needed by permutations, slices,
/// concatenations and repetitions.
class StridedCopy {
public:
  /// One dimension, with strides in elements. A source stride of 0 repeats an
  /// element.
  struct Dimension {
    int64_t size, sourceStride, targetStride;
  };

  /// `dimensions` are in the order of the target, outermost first.
  StridedCopy(int64_t elementBytes, llvm::ArrayRef<Dimension> dimensions);

  void run(const void *source, void *target, ThreadPool &pool) const;

private:
  void copyContiguous(const char *source, char *target, ThreadPool &pool) const;
  void copyRows(const char *source, char *target, int64_t begin, int64_t count,
                int64_t bytes) const;
  void copyElements(const char *source, char *target, ThreadPool &pool) const;

  int64_t elementBytes;
  /// The innermost dimension of the target.
  Dimension inner;
  /// For elements that are not contiguous in the source: the dimension along
  /// which they are contiguous there, or one element.
  Dimension across{1, 0, 0};
  llvm::SmallVector<Dimension, 4> outer;
  int64_t outerCount = 1;
  bool isContiguous;
};

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_STRIDEDCOPY_H
