//===- ExpertRows.h - Ranges of rows of experts -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Common parts of the products of experts and their gradients: shapes, the rows
// of each expert according to the counts, and the order of tiles.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_EXEC_KERNELS_EXPERTROWS_H
#define MF_LIB_EXEC_KERNELS_EXPERTROWS_H

#include "MatrixProduct.h"
#include "SpecChecker.h"
#include "mf/Exec/Kernels/ThreadPool.h"
#include <map>
#include <mutex>
#include <vector>

namespace mf {

/// Products of [rows, in] by [in, out] for `experts` experts of each of `ranks`
/// ranks in `groups` groups.
struct ExpertShape {
  int64_t groups = 1, ranks = 1, experts = 1, rows = 1, in = 1, out = 1;
  DType operandType = DType::F32, resultType = DType::F32;

  int64_t countAllRows() const { return groups * ranks * rows; }
};

/// Checks `x` [groups, ranks, rows, in] and `counts` [groups, ranks, experts],
/// inputs 0 and 2, and the type of output 0. The caller checks the rest of the
/// shape.
ExpertShape readExpertShape(const KernelSpec &spec, SpecChecker &checker);

/// Returns the number of rows that a count stands for, clamped to [0, most].
int64_t readRowCount(float count, int64_t most);

/// The rows of one expert in one group, counted over all groups and ranks.
struct ExpertRows {
  int64_t begin, size;
};

/// The rows of all experts of a launch. Counts that exceed the rows of a rank
/// are limited.
class ExpertRowTable {
public:
  ExpertRowTable(const ExpertShape &shape, const float *counts);

  ExpertRows get(int64_t group, int64_t rank, int64_t expert) const {
    return rows[(group * shape.ranks + rank) * shape.experts + expert];
  }
  /// Returns the rows after those of the rank's last expert.
  ExpertRows getRest(int64_t group, int64_t rank) const;

private:
  const ExpertShape &shape;
  std::vector<ExpertRows> rows;
};

/// The order of products: one after another, or the tiles of all products
/// together.
enum class ExpertOrder { OneByOne, AllAtOnce };

/// Calls `run(product, tile)` for the tiles of each product, which are
/// `tileCounts[product]`.
void runExpertTiles(ExpertOrder order, llvm::ArrayRef<int64_t> tileCounts,
                    ThreadPool &pool,
                    llvm::function_ref<void(size_t, int64_t)> run);

/// Returns whether oneDNN multiplies these types directly.
bool multipliesDirectly(DType operandType, DType resultType);

/// Products whose sizes depend on counts. They are created at the first request
/// and then cached. There are few, because sizes are rounded up to multiples of
/// `granule`.
class ProductCache {
public:
  static constexpr int64_t granule = 8;

  /// Ends the program if oneDNN fails. Callers have checked that it supports
  /// the types.
  const Product &get(const ProductSpec &spec) const;

private:
  mutable std::mutex mutex;
  mutable std::map<std::vector<int64_t>, std::shared_ptr<const Product>>
      products;
};

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_EXPERTROWS_H
