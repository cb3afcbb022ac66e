//===- FuseTokenPermute.cpp - Sorting tokens by expert as one operator ----===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/Passes.h"
#include "passes/PrintedPlan.h"
#include "passes/fuse/Fusion.h"

namespace mf::passes {
#define GEN_PASS_DEF_FUSETOKENPERMUTE
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;
using mf::passes::createNamed;
using mf::passes::Fusion;
using mf::passes::FusionCandidate;

namespace {

/// Sorts rows by their keys, and back.
struct Permutation {
  Value keys;
  GatherRowsOp forth, back;
  /// The indices of both sorts.
  Value order, places;
};

/// Returns the single gather by the indices of `sort`, if these have no other
/// readers except `inverse`.
GatherRowsOp getGather(SortOp sort, CastOp *inverse) {
  if (!sort.getValues().use_empty())
    return {};
  GatherRowsOp gather;
  for (Operation *user : sort.getIndices().getUsers()) {
    auto rows = dyn_cast<GatherRowsOp>(user);
    auto cast = dyn_cast<CastOp>(user);
    if (rows && !gather)
      gather = rows;
    else if (cast && inverse && !*inverse)
      *inverse = cast;
    else
      return {};
  }
  return gather;
}

std::optional<Permutation> match(SortOp sort) {
  CastOp inverse;
  GatherRowsOp forth = getGather(sort, &inverse);
  if (!forth || !inverse || !inverse.getResult().hasOneUse())
    return std::nullopt;
  // The indices of the first sort are numbers; sorting these inverts the order.
  auto second = dyn_cast<SortOp>(*inverse.getResult().user_begin());
  GatherRowsOp back = second ? getGather(second, nullptr) : GatherRowsOp();
  if (!back)
    return std::nullopt;
  Permutation found{sort.getKeys(), forth, back, sort.getIndices(),
                    second.getIndices()};
  // If there are as many places as rows, no row is left out or repeated.
  for (GatherRowsOp gather : {forth, back})
    if (gather.getInput().getType() != gather.getResult().getType())
      return std::nullopt;
  return found;
}

/// Returns `value` in another element type, or itself if it has that type.
Value convert(OpBuilder &builder, GatherRowsOp from, Value value, Type type) {
  auto tensor = cast<RankedTensorType>(value.getType());
  if (tensor.getElementType() == type)
    return value;
  return createNamed<CastOp>(builder, from.getLoc(), from.getCellName(),
                             tensor.clone(type), value)
      .getResult();
}

SmallVector<Value, 1> build(OpBuilder &builder, Permutation found) {
  Type narrow = builder.getBF16Type();
  Type own = cast<RankedTensorType>(found.forth.getType()).getElementType();
  Value rows = convert(builder, found.forth, found.forth.getInput(), narrow);
  auto permuted =
      createNamed<TokenPermuteOp>(builder, found.forth.getLoc(),
                                  found.forth.getCellName(), rows, found.keys);
  Value forth = convert(builder, found.forth, permuted.getResult(), own);

  builder.setInsertionPoint(found.back);
  Value made = convert(builder, found.back, found.back.getInput(), narrow);
  Value restored = createNamed<TokenUnpermuteOp>(
                       builder, found.back.getLoc(), found.back.getCellName(),
                       made.getType(), ValueRange{made, permuted.getPlaces()})
                       .getResult();
  return {forth, convert(builder, found.back, restored, own)};
}

FusionCandidate getCandidate(Permutation found) {
  FusionCandidate candidate;
  candidate.setPlace(found.forth, found.forth.getCellName());
  // These are two sorts, a conversion between them and two gathers.
  candidate.kernelsBefore = 5;
  bool isNarrow =
      cast<RankedTensorType>(found.forth.getType()).getElementType().isBF16();
  candidate.kernelsAfter = isNarrow ? 2 : 6;
  candidate.keptBefore =
      mf::passes::getBytes(found.order) + mf::passes::getBytes(found.places);
  candidate.keptAfter = mf::passes::getBytes(found.places);
  candidate.results = {found.forth.getResult(), found.back.getResult()};
  candidate.build = [=](OpBuilder &builder) { return build(builder, found); };
  return candidate;
}

struct FuseTokenPermutePass
    : mf::passes::PrintingPass<
          mf::passes::impl::FuseTokenPermuteBase<FuseTokenPermutePass>> {
  using PrintingPass::PrintingPass;

  void runOnOperation() override {
    ModelOp model = getOperation();
    Fusion fusion(model, TokenPermuteOp::getOperationName(), printPlan);
    for (LayerOp layer : model.getBody().getOps<LayerOp>())
      for (SortOp sort : layer.getBody().getOps<SortOp>())
        if (std::optional<Permutation> found = match(sort))
          fusion.add(getCandidate(*found));
    fusion.run("permute_tokens", &mf::ir::FusionsAttr::getPermuteTokens);
  }
};

} // namespace
