//===- PackedAttention.h - Attention on a matrix unit ---------*- C++ -*-===//

#ifndef MF_LIB_EXEC_KERNELS_PACKEDATTENTION_H
#define MF_LIB_EXEC_KERNELS_PACKEDATTENTION_H

#include "AttentionShape.h"
#include "BlockProduct.h"
#include "MatrixUnit.h"

namespace mf {

/// Returns the type in which the unit multiplies tensors of `type`.
inline DType getCellType(DType type, MatrixUnit unit) {
  const bool onTiles = type == DType::BF16 && unit == MatrixUnit::Amx;
  return onTiles ? DType::BF16 : DType::F32;
}

/// Return the kernels for a unit other than None.
std::unique_ptr<Kernel> makePackedAttention(const AttentionShape &shape,
                                            MatrixUnit unit);
std::unique_ptr<Kernel> makePackedAttentionGrad(const AttentionShape &shape,
                                                MatrixUnit unit);

/// Pieces of scratch memory, laid out one after another.
class ScratchPlan {
public:
  /// Reserves `count` floats or cells and returns where they begin.
  int64_t add(int64_t count) {
    const int64_t begin = size;
    size += roundUpTo(count, lineCells);
    return begin;
  }
  size_t getBytes() const { return size * sizeof(Cell); }

private:
  int64_t size = 0;
};

/// Columns that are summed over, as cells of whole lines.
inline int64_t getLineCells(DType cellType, int64_t columns) {
  const int64_t elements = getCellElements(cellType);
  return roundUpTo(columns, lineCells * elements) / elements;
}

/// Returns the number of keys that the query at `position` sees.
inline int64_t countSeenKeys(const AttentionShape &shape, int64_t position) {
  if (!shape.causal)
    return shape.keys;
  return std::min(position + 1 + shape.keys - shape.queries, shape.keys);
}

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_PACKEDATTENTION_H
