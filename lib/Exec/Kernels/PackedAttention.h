//===- PackedAttention.h - Attention on a matrix unit ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_KERNELS_PACKEDATTENTION_H
#define MF_LIB_EXEC_KERNELS_PACKEDATTENTION_H

#include "AttentionShape.h"
#include "BlockPacking.h"
#include "BlockProduct.h"
#include "Factories.h"
#include "MatrixUnit.h"
#include "Scratch.h"
#include "Tiles.h"

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

/// Returns the kernel that `makePacked` makes for the processor's matrix unit,
/// or one of `FlashKernel` if there is none or the unit's kernel does not have
/// the optional inputs.
template <typename FlashKernel>
KernelOrError makeOnBestUnit(
    const KernelSpec &spec, const AttentionShape &shape,
    std::unique_ptr<Kernel> (*makePacked)(const AttentionShape &, MatrixUnit)) {
  const MatrixUnit unit = getMatrixUnit();
  if (unit != MatrixUnit::None && !shape.optional.dropMask &&
      !shape.optional.starts)
    return makePacked(shape, unit);
  auto kernel = std::make_unique<FlashKernel>(shape);
  if (!kernel->prepare())
    return llvm::createStringError(spec.name +
                                   ": oneDNN has no product for its blocks on "
                                   "this processor");
  return kernel;
}

/// A thread's scratch memory, at the places that a ScratchPlan returned.
struct ScratchCells {
  Cell *memory;

  Cell *cells(int64_t place) const { return memory + place; }
  float *floats(int64_t place) const {
    return reinterpret_cast<float *>(memory + place);
  }
};

/// Pieces of scratch memory, laid out one after another.
class ScratchPlan {
public:
  /// Reserves `count` floats or cells and returns where they begin.
  int64_t add(int64_t count) {
    const int64_t begin = size;
    size += roundUpTo(count, lineCells);
    return begin;
  }
  /// Returns the memory of the calling thread.
  ScratchCells get() const {
    return {
        static_cast<Cell *>(getScratch(ScratchUse::Tile, size * sizeof(Cell)))};
  }

private:
  int64_t size = 0;
};

/// Returns a block of rows of `columns` elements, of which [begin, begin +
/// size) are those of `tensor` from row `row` on.
inline RowBlock getRows(DType type, DType cellType, const void *tensor,
                        int64_t row, int64_t begin, int64_t size,
                        int64_t columns) {
  return {type,  cellType,     at(tensor, type, row * columns),
          begin, begin + size, columns};
}

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
