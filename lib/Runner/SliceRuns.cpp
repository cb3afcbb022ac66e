//===- SliceRuns.cpp - Where a rank's slice lies in the whole -------------===//

#include "SliceRuns.h"
#include "llvm/ADT/STLExtras.h"

using namespace mf::program;

namespace mf::runner {

TensorShape getWholeShape(const Static &buffer) {
  TensorShape shape = buffer.shape;
  if (buffer.slice)
    shape.dims = buffer.slice->dims;
  return shape;
}

SliceRuns::SliceRuns(const Mesh &mesh, const Static &buffer, int64_t rank) {
  const llvm::SmallVector<int64_t, 4> &local = buffer.shape.dims;
  const TensorShape whole = getWholeShape(buffer);
  // From the inside out; runs reach to the innermost dimension that is cut.
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
    if (buffer.slice)
      offset += mesh.getPart(rank, buffer.slice->axes[i]) * local[i] * stride;
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

} // namespace mf::runner
