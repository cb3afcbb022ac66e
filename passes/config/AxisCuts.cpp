//===- AxisCuts.cpp - Axes of ranks that are split into factors -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/config/AxisCuts.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::passes {

/// Splits `axis` so that `size` neighbours are a product of whole factors.
/// Returns false if it is already split in a way that does not fit.
static bool cutAxis(NamedAxis &axis, int64_t size) {
  if (llvm::is_contained(axis.cuts, size))
    return true;
  for (int64_t cut : axis.cuts)
    if (cut % size != 0 && size % cut != 0)
      return false;
  axis.cuts.push_back(size);
  return true;
}

bool takeInnerRanks(llvm::SmallVectorImpl<AxisSpan> &spans, int64_t size) {
  llvm::SmallVector<AxisSpan> rest(spans.begin(), spans.end());
  while (size > 1) {
    if (rest.empty())
      return false;
    AxisSpan &last = rest.back();
    if (size % last.size == 0) {
      size /= last.size;
      rest.pop_back();
      continue;
    }
    if (last.size % size != 0 || !cutAxis(*last.axis, last.stride * size))
      return false;
    last.stride *= size;
    last.size /= size;
    size = 1;
  }
  spans = std::move(rest);
  return true;
}

} // namespace mf::passes
