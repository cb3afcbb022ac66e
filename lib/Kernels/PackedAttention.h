//===- PackedAttention.h - Attention on a matrix unit ---------*- C++ -*-===//

#ifndef MF_LIB_KERNELS_PACKEDATTENTION_H
#define MF_LIB_KERNELS_PACKEDATTENTION_H

#include "AttentionShape.h"
#include "BlockProduct.h"

namespace mf {

/// The unit that attention of `type` is to run on: None where there is none or
/// it does not know the type.
MatrixUnit getAttentionUnit(DType type);

/// The kernels for a unit that is not None.
std::unique_ptr<Kernel> makePackedAttention(const AttentionShape &shape,
                                            MatrixUnit unit);
std::unique_ptr<Kernel> makePackedAttentionGrad(const AttentionShape &shape,
                                                MatrixUnit unit);

/// Pieces of scratch memory, laid out one after another.
class ScratchPlan {
public:
  /// A piece of `count` floats or cells; says where it begins.
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
inline int64_t getLineCells(DType type, int64_t columns) {
  const int64_t elements = getCellElements(type);
  return roundUpTo(columns, lineCells * elements) / elements;
}

} // namespace mf

#endif // MF_LIB_KERNELS_PACKEDATTENTION_H
