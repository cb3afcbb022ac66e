//===- TokenRows.h - Rows that an index moves, in batches -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_KERNELS_TOKENROWS_H
#define MF_LIB_EXEC_KERNELS_TOKENROWS_H

#include "SpecChecker.h"
#include "Tiles.h"

namespace mf {

/// In each batch, `rows` rows of `width` elements, and `places` places that
/// each name one of them.
struct RowShape {
  DType type = DType::F32;
  int64_t batches = 1, rows = 1, places = 1, width = 1;

  /// Cuts `numRows` rows of each batch into tiles.
  Tiles tileAll(int64_t numRows) const {
    return tileRows(batches * numRows, width);
  }
};

/// Reads `table` [..., rows, width] and `index` [..., places], whose leading
/// dimensions must agree. `tableRole` and `indexRole` are their names in
/// messages.
RowShape readRowShape(SpecChecker &checker, const TensorShape &table,
                      const llvm::Twine &tableRole, const TensorShape &index,
                      const llvm::Twine &indexRole);

/// Returns the shape of the tensor with a row for each place of `index`.
TensorShape getPlacedRows(const RowShape &shape, const TensorShape &index);

/// Copies row `index[i]` of its batch to each place i; zeros if there is no
/// such row.
void gatherRows(const RowShape &shape, const void *from, const int32_t *index,
                void *to, ThreadPool &pool);

/// Returns a kernel that does so with input 0 as the table and input 1 as the
/// index.
std::unique_ptr<Kernel> makeRowGather(const RowShape &shape);

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_TOKENROWS_H
