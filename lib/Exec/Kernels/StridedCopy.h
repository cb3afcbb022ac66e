//===- StridedCopy.h - Strided copies of elements ---------------*- C++ -*-===//

#ifndef MF_LIB_KERNELS_STRIDEDCOPY_H
#define MF_LIB_KERNELS_STRIDEDCOPY_H

#include "mf/Exec/Kernels/ThreadPool.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace mf {

/// A copy between two strided tensors: what permutations, slices,
/// concatenations and repetitions come down to.
class StridedCopy {
public:
  /// One dimension, strides in elements. A source stride of 0 repeats.
  struct Dimension {
    int64_t size, sourceStride, targetStride;
  };

  /// `dimensions` from the outermost in, in the order of the target.
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
  /// For elements that lie apart in the source: the dimension along which they
  /// lie together there, or one element.
  Dimension across{1, 0, 0};
  llvm::SmallVector<Dimension, 4> outer;
  int64_t outerCount = 1;
  bool isContiguous;
};

} // namespace mf

#endif // MF_LIB_KERNELS_STRIDEDCOPY_H
