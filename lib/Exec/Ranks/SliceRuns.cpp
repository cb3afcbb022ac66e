//===- SliceRuns.cpp - Runs of elements of a slice ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Ranks/SliceRuns.h"
#include <cstring>

using namespace mf::program;

namespace mf::ranks {

std::string describeRank(const Mesh &mesh, int64_t rank) {
  return "rank " + std::to_string(rank) + " (stage " +
         std::to_string(mesh.getStage(rank)) + ")";
}

TensorShape getWholeShape(const TensorShape &shape,
                          const std::optional<Slice> &slice) {
  return slice ? TensorShape{shape.type, slice->dims} : shape;
}

SliceRuns::SliceRuns(const Mesh &mesh, const TensorShape &shape,
                     const std::optional<Slice> &slice, int64_t rank) {
  const llvm::SmallVector<int64_t, 4> &local = shape.dims;
  const TensorShape whole = getWholeShape(shape, slice);
  // From the innermost dimension out. Runs extend to the innermost dimension
  // that is cut.
  bool isCut = false;
  int64_t stride = 1;
  for (size_t i = local.size(); i-- > 0;) {
    if (isCut) {
      outer.push_back({local[i], stride});
      numRuns *= local[i];
    } else {
      runElements *= local[i];
    }
    isCut |= local[i] != whole.dims[i];
    if (slice)
      offset += mesh.getPart(rank, slice->axes[i]) * local[i] * stride;
    stride *= whole.dims[i];
  }
}

int64_t SliceRuns::getWholeElement(int64_t run) const {
  int64_t element = offset;
  for (const Dimension &dimension : outer) {
    element += run % dimension.extent * dimension.wholeStride;
    run /= dimension.extent;
  }
  return element;
}

void SliceRuns::forEach(
    int64_t begin, int64_t end,
    llvm::function_ref<void(int64_t, int64_t, int64_t)> visit) const {
  for (int64_t local = begin; local < end;) {
    const int64_t inside = local % runElements;
    const int64_t count = std::min(runElements - inside, end - local);
    visit(getWholeElement(local / runElements) + inside, local, count);
    local += count;
  }
}

void SliceRuns::take(llvm::ArrayRef<uint8_t> whole,
                     llvm::MutableArrayRef<uint8_t> slice,
                     int64_t elementBytes) const {
  forEach([&](int64_t from, int64_t to, int64_t count) {
    std::memcpy(slice.data() + to * elementBytes,
                whole.data() + from * elementBytes, count * elementBytes);
  });
}

void SliceRuns::put(llvm::ArrayRef<uint8_t> slice,
                    llvm::MutableArrayRef<uint8_t> whole,
                    int64_t elementBytes) const {
  forEach([&](int64_t to, int64_t from, int64_t count) {
    std::memcpy(whole.data() + to * elementBytes,
                slice.data() + from * elementBytes, count * elementBytes);
  });
}

} // namespace mf::ranks
