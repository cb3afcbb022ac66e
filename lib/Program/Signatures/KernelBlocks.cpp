//===- KernelBlocks.cpp - Block sizes of kernels --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Signatures/KernelBlocks.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

namespace mf {

int64_t getRmsNormGradBlockRows(int64_t rows) {
  return static_cast<int64_t>(llvm::divideCeil(rows, 16));
}

int64_t getSortGroups(int64_t rows) { return std::min<int64_t>(rows, 16); }

int64_t countIterations(const StridedLoops &loops) {
  int64_t count = 1;
  for (const StridedLoop &loop : loops)
    count *= loop.size;
  return count;
}

void ReductionCut::addLoops(llvm::ArrayRef<int64_t> dims,
                            llvm::ArrayRef<bool> isReduced) {
  bool lastIsReduced = false;
  int64_t stride = 1;
  bool first = true;
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i] == 1)
      continue;
    StridedLoops &loops = isReduced[i] ? reduced : kept;
    bool joins = !first && lastIsReduced == isReduced[i];
    if (first || (joins && loops.empty())) {
      inner *= dims[i];
      innerIsKept = !isReduced[i];
    } else if (joins) {
      loops.back().size *= dims[i];
    } else {
      loops.push_back({dims[i], stride});
    }
    first = false;
    lastIsReduced = isReduced[i];
    stride *= dims[i];
  }
  std::reverse(kept.begin(), kept.end());
  std::reverse(reduced.begin(), reduced.end());
}

/// Fewer groups than this do not occupy all threads. More results than this
/// would make the workspace large.
static constexpr int64_t fewGroups = 16;
static constexpr int64_t mostSplitResults = 16384;

ReductionCut::ReductionCut(llvm::ArrayRef<int64_t> dims,
                           llvm::ArrayRef<bool> isReduced) {
  addLoops(dims, isReduced);
  outer = countIterations(kept);
  int64_t rows = countIterations(reduced);
  if (innerIsKept) {
    strip = std::min<int64_t>(inner, inner < 4096 ? 128 : 512);
    strips = static_cast<int64_t>(llvm::divideCeil(inner, strip));
    units = rows;
    results = outer * inner;
    groups = outer * strips;
  } else {
    runs = static_cast<int64_t>(llvm::divideCeil(inner, elementsPerSum));
    units = rows * runs;
    strip = std::max<int64_t>(1, elementsPerTile / (rows * inner));
    results = outer;
    groups = static_cast<int64_t>(llvm::divideCeil(outer, strip));
  }
  bool worthwhile = units * inner >= 4 * elementsPerTile;
  if (groups < fewGroups && results <= mostSplitResults && worthwhile)
    blocks = std::min<int64_t>(units, 16);
}

llvm::SmallVector<bool, 4> getReducedDimensions(const KernelSpec &spec) {
  const auto rank = static_cast<int64_t>(spec.inputs[0].dims.size());
  llvm::SmallVector<bool, 4> isReduced(rank);
  for (int64_t axis :
       std::get<std::vector<int64_t>>(spec.attributes.at("axes")))
    if (axis >= -rank && axis < rank)
      isReduced[axis < 0 ? axis + rank : axis] = true;
  return isReduced;
}

} // namespace mf
