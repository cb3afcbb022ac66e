//===- DimensionSplit.cpp - Resharding a dimension in two parts -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "DimensionSplit.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace mf::passes {

using ir::Axes;
using ir::Layout;
using ir::MeshSizes;

SmallVector<int64_t> splitShape(ArrayRef<int64_t> shape,
                                const DimensionSplit &split) {
  SmallVector<int64_t> result(shape);
  result[split.dim] /= split.outer;
  result.insert(result.begin() + split.dim, split.outer);
  return result;
}

Layout splitLayout(ArrayRef<int64_t> shape, const Layout &layout,
                   const DimensionSplit &split, const MeshSizes &mesh) {
  Layout result = layout;
  std::optional<SmallVector<Axes>> cuts =
      ir::splitAxes(layout.cuts[split.dim],
                    {split.outer, shape[split.dim] / split.outer}, mesh);
  result.cuts[split.dim] = (*cuts)[1];
  result.cuts.insert(result.cuts.begin() + split.dim, (*cuts)[0]);
  return result;
}

/// Finds a dimension of `far` of which axes in the middle cut another dimension
/// in `near`, while the axes before them still cut this dimension, and those
/// after them none.
static std::optional<DimensionSplit> findMoved(ArrayRef<int64_t> shape,
                                               const Layout &far,
                                               const Layout &near,
                                               const MeshSizes &mesh) {
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    ArrayRef<StringRef> cut = far.cuts[dim];
    size_t kept = near.cuts[dim].size(), last = cut.size();
    while (last > kept && !near.cutsOver(cut[last - 1]))
      --last;
    if (last == cut.size() || last <= kept ||
        cut.take_front(kept) != ArrayRef<StringRef>(near.cuts[dim]))
      continue;
    ArrayRef<StringRef> moved = cut.slice(kept, last - kept);
    bool isOneExchange = any_of(seq<size_t>(0, shape.size()), [&](size_t to) {
      Axes together = far.cuts[to];
      together.append(moved.begin(), moved.end());
      return to != dim && together == near.cuts[to];
    });
    int64_t outer = mesh.getNumParts(cut.take_front(last));
    int64_t inner = mesh.getNumParts(cut.drop_front(last));
    if (isOneExchange && shape[dim] % (outer * inner) == 0)
      return DimensionSplit{dim, outer};
  }
  return std::nullopt;
}

std::optional<DimensionSplit> findDimensionSplit(ArrayRef<int64_t> shape,
                                                 const Layout &from,
                                                 const Layout &to,
                                                 const MeshSizes &mesh) {
  if (std::optional<DimensionSplit> split = findMoved(shape, from, to, mesh))
    return split;
  return findMoved(shape, to, from, mesh);
}

} // namespace mf::passes
