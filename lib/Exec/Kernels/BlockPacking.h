//===- BlockPacking.h - Packs rows for block products -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Packs the operands of BlockProduct.h from rows x of a tensor. The cells are
// of the tensor's type or f32. The processor has MatrixUnit::Avx512.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_EXEC_KERNELS_BLOCKPACKING_H
#define MF_LIB_EXEC_KERNELS_BLOCKPACKING_H

#include "BlockProduct.h"

namespace mf {

/// A block of rows of `columns` elements each. Only the rows [begin, end) of
/// the block exist, from `data` on; all others are zeros.
struct RowBlock {
  DType type;
  /// F32, or BF16 if `type` is.
  DType cellType;
  const void *data;
  int64_t begin, end;
  int64_t columns;
  /// Elements from a row to the next.
  int64_t stride = columns;
};

/// Computes a = x with `rows` rows, a multiple of 16, at distance `stride`
/// cells.
void packRows(const RowBlock &x, Cell *a, int64_t rows, int64_t stride);

/// Computes a = x^T from `rows` rows of x, a multiple of 32. It has as many
/// rows as x has columns, rounded up to a multiple of 32, at distance `stride`
/// cells.
void packRowsOfColumns(const RowBlock &x, Cell *a, int64_t rows,
                       int64_t stride);

/// Computes b = x from `rows` rows of x, a multiple of 32: a panel for each 16
/// columns, at distance `stride` cells, up to a multiple of 32 columns.
void packPanels(const RowBlock &x, Cell *b, int64_t rows, int64_t stride);

/// Computes b = x^T from `rows` rows of x, a multiple of 16: a panel for each
/// 16 rows, at distance `stride` cells.
void packPanelsOfRows(const RowBlock &x, Cell *b, int64_t rows, int64_t stride);

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_BLOCKPACKING_H
