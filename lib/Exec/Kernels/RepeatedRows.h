//===- RepeatedRows.h - Rows of a broadcast tensor --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_KERNELS_REPEATEDROWS_H
#define MF_LIB_EXEC_KERNELS_REPEATEDROWS_H

#include "mf/Support/DType.h"

namespace mf {

/// A tensor as another shape sees it that it is repeated to, as in NumPy, row
/// by row.
class RepeatedRows {
public:
  /// `from` is broadcast over dimensions of `to` that it lacks or that have
  /// size one.
  RepeatedRows(const TensorShape &from, llvm::ArrayRef<int64_t> to);

  /// Returns rows [first, first + count) of the broadcast `source`: their place
  /// in it if they are contiguous there, and otherwise `scratch`, filled with
  /// them.
  const void *get(const void *source, int64_t first, int64_t count,
                  void *scratch) const;

private:
  /// Returns the source row of row `row`.
  int64_t getSourceRow(int64_t row) const;
  bool liesTogether(int64_t first, int64_t count) const;
  void copyRow(const char *source, char *target) const;

  /// A leading dimension, from the last one on: its number of rows, and their
  /// distance in rows of the source; 0 if they are the same row.
  struct Loop {
    int64_t size, stride;
  };
  llvm::SmallVector<Loop, 4> loops;
  int64_t elementBytes, sourceColumns, columns;
};

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_REPEATEDROWS_H
