//===- SwiGluSite.cpp - Patterns of SiLU times a product ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/fuse/SwiGluSite.h"
#include "passes/fuse/Fusion.h"

using namespace mlir;
using namespace mf::ir;

namespace mf::passes {

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

/// Returns the slice that `value` is, possibly through reshapes.
static SliceOp getPart(Value value) {
  while (auto view = getOnlyReadOp<ReshapeOp>(value))
    value = view.getInput();
  return getOnlyReadOp<SliceOp>(value);
}

/// Returns the only dimension along which a slice is smaller than its input, if
/// there is exactly one.
static std::optional<int64_t> getCutDim(SliceOp part) {
  ArrayRef<int64_t> whole = getShape(part.getInput());
  std::optional<int64_t> cut;
  for (auto [dim, size] : llvm::enumerate(part.getSizes())) {
    if (size == whole[dim])
      continue;
    if (cut)
      return std::nullopt;
    cut = static_cast<int64_t>(dim);
  }
  return cut;
}

/// Finds the value of which gate and up are halves, if there is one.
static void findWhole(SwiGluSite &site) {
  SliceOp gate = getPart(site.gate), up = getPart(site.up);
  if (!gate || !up || gate.getInput() != up.getInput() ||
      gate.getSizes() != up.getSizes())
    return;
  std::optional<int64_t> dim = getCutDim(gate);
  if (!dim)
    return;
  int64_t size = gate.getSizes()[*dim];
  if (getShape(gate.getInput())[*dim] != 2 * size ||
      gate.getStarts()[*dim] != 0 || up.getStarts()[*dim] != size)
    return;
  site.whole = gate.getInput();
  site.dim = *dim;
}

std::optional<SwiGluSite> matchSwiGlu(MulOp product) {
  Value lhs = product.getLhs(), rhs = product.getRhs();
  // The product must not broadcast.
  if (lhs.getType() != rhs.getType() || getShape(lhs).empty())
    return std::nullopt;
  for (auto [activated, other] : {std::pair(lhs, rhs), std::pair(rhs, lhs)})
    if (auto silu = getOnlyReadOp<SiluOp>(activated)) {
      SwiGluSite site{product, silu, silu.getInput(), other, Value()};
      findWhole(site);
      return site;
    }
  return std::nullopt;
}

bool SwiGluSite::alternates() const {
  ArrayRef<int64_t> shape = getShape(whole);
  return shape.back() == 2 && dim + 1 == static_cast<int64_t>(shape.size()) &&
         shape.size() > 1;
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

/// Returns [..., 2, n, ...] with all dimensions from n on merged into one.
static SmallVector<int64_t> getHalvedShape(ArrayRef<int64_t> whole,
                                           int64_t dim) {
  SmallVector<int64_t> shape(whole.take_front(dim));
  int64_t width = whole[dim] / 2;
  for (int64_t size : whole.drop_front(dim + 1))
    width *= size;
  shape.append({2, width});
  return shape;
}

Value joinGateAndUp(OpBuilder &builder, const SwiGluSite &site, StringRef cell,
                    StringRef name) {
  mlir::Location loc = SwiGluSite(site).product.getLoc();
  auto getName = [&](StringRef leaf) {
    return name.empty() ? (cell + leaf).str() : name.str();
  };
  if (!site.whole) {
    SmallVector<int64_t> shape(getShape(site.gate));
    shape.insert(shape.end() - 1, 1);
    auto expand = [&](Value value) {
      return reshapeNamed(builder, loc, getName("expand_dims"), value, shape);
    };
    Value gate = expand(site.gate), up = expand(site.up);
    return createNamed<ConcatOp>(builder, loc, getName("w13_concat"),
                                 ValueRange{gate, up},
                                 static_cast<int64_t>(shape.size()) - 2)
        .getResult();
  }
  ArrayRef<int64_t> whole = getShape(site.whole);
  if (!site.alternates())
    return reshapeNamed(builder, loc, getName("reshape"), site.whole,
                        getHalvedShape(whole, site.dim));
  auto perm = llvm::to_vector(
      llvm::seq<int64_t>(0, static_cast<int64_t>(whole.size())));
  std::swap(perm.back(), perm[perm.size() - 2]);
  return createNamed<TransposeOp>(builder, loc, getName("transpose"),
                                  site.whole, perm)
      .getResult();
}

} // namespace mf::passes
