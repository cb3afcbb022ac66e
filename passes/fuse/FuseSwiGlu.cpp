//===- FuseSwiGlu.cpp - SiLU and its product as one operator --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/MfOps.h"
#include "mf/Frontend/Families/Family.h"
#include "passes/Passes.h"
#include "passes/PrintedPlan.h"
#include "passes/fuse/Fusion.h"

namespace mf::passes {

#define GEN_PASS_DEF_FUSESWIGLU
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf;
using namespace mf::ir;
using namespace mf::passes;

namespace {

/// The pattern silu(gate) * up.
struct SwiGluSite {
  mf::ir::MulOp product;
  mf::ir::SiluOp silu;
  mlir::Value gate, up;
  /// The value of which both are halves, or null. They are halves along
  /// dimension `dim`, the first of which is the gate.
  mlir::Value whole;
  int64_t dim = 0;

  /// Returns whether gate and up alternate: `dim` is the last dimension and has
  /// size 2.
  bool alternates() const {
    ArrayRef<int64_t> shape = getShape(whole);
    return shape.back() == 2 && dim + 1 == static_cast<int64_t>(shape.size()) &&
           shape.size() > 1;
  }
};

} // namespace

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

static std::optional<SwiGluSite> matchSwiGlu(MulOp product) {
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

/// Returns [..., 2, width] of gate and up for mf.swiglu. Operators are named
/// for the Cell `cell`, or all get the name `name` if it is not empty.
static Value joinGateAndUp(OpBuilder &builder, const SwiGluSite &site,
                           StringRef cell, StringRef name) {
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

namespace {

/// Returns whether the tokens of a layer choose among experts.
bool hasRouter(LayerOp layer) {
  return !layer.getBody().getOps<TopKOp>().empty();
}

/// Returns the value to which `value` adds, or of which it is a shape; null if
/// it does neither.
Value getSource(Value value) {
  if (auto reshape = value.getDefiningOp<ReshapeOp>())
    return reshape.getInput();
  auto sum = value.getDefiningOp<AddOp>();
  return sum ? sum.getLhs() : Value();
}

/// Returns whether gate and up are computed with one weight of each expert, to
/// whose product adapters may add.
bool isOfExperts(const SwiGluSite &site) {
  Value value = site.whole;
  for (Value source = value; source; source = getSource(source))
    value = source;
  return value && isa_and_nonnull<ExpertMatmulOp, GroupedMatmulOp>(
                      value.getDefiningOp());
}

struct FuseSwiGluPass : mf::passes::PrintingPass<
                            mf::passes::impl::FuseSwiGluBase<FuseSwiGluPass>> {
  using PrintingPass::PrintingPass;

  void runOnOperation() override {
    ModelOp model = getOperation();
    isMcore = mf::isMcore(model.getFamily());
    auto layers = model.getBody().getOps<LayerOp>();
    // Classic layer classes with experts only fuse operators of layers with a
    // router.
    bool needsRouter = !isMcore && llvm::any_of(layers, hasRouter);
    Fusion fusion(model, SwiGluOp::getOperationName(), printPlan);
    for (LayerOp layer : layers) {
      bool isNever = needsRouter && !hasRouter(layer);
      for (MulOp product : layer.getBody().getOps<MulOp>())
        if (std::optional<SwiGluSite> site = matchSwiGlu(product)) {
          FusionCandidate candidate = getCandidate(*site);
          candidate.isNever = isNever;
          fusion.add(std::move(candidate));
        }
    }
    fusion.run("swiglu", &mf::ir::FusionsAttr::getSwiglu);
  }

private:
  /// In classic classes the fused operator is a sibling of the product, in the
  /// training graph it is in the Cell of the activation. If it is a single
  /// primitive there, it keeps that name.
  FusionCandidate getCandidate(SwiGluSite site) {
    StringRef silu = site.silu.getCellName();
    StringRef product = site.product.getCellName();
    std::string cell = mf::passes::getCellPrefix(isMcore ? silu : product);
    std::string only = silu == product ? product.str() : "";

    FusionCandidate candidate;
    candidate.results = {site.product.getResult()};
    candidate.setPlace(site.product, only.empty() ? cell + "swiglu" : only);
    int64_t bytes = mf::passes::getBytes(site.product);
    candidate.kernelsBefore = site.whole ? 4 : 2;
    candidate.kernelsAfter = site.whole && !site.alternates() ? 1 : 2;
    candidate.keptBefore = (site.gate == site.up ? 2 : 3) * bytes;
    candidate.keptAfter = 2 * bytes;
    candidate.isAlways = isOfExperts(site);
    candidate.build = [=](OpBuilder &builder) mutable -> SmallVector<Value, 1> {
      mlir::Location loc = site.product.getLoc();
      Value both = joinGateAndUp(builder, site, cell, only);
      Value result =
          mf::passes::createNamed<SwiGluOp>(
              builder, loc, only.empty() ? cell + "swiglu" : only, both)
              .getResult();
      return {mf::passes::reshapeNamed(
          builder, loc, only.empty() ? cell + "reshape" : only, result,
          site.product.getResult().getType().getShape())};
    };
    return candidate;
  }

  bool isMcore = false;
};

} // namespace
