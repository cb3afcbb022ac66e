//===- FuseRotary.cpp - Rotary embedding as one operator ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/Passes.h"
#include "passes/PrintedPlan.h"
#include "passes/fuse/Fusion.h"

namespace mf::passes {
#define GEN_PASS_DEF_FUSEROTARY
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;
using mf::passes::Fusion;
using mf::passes::FusionCandidate;
using mf::passes::getOnlyReadOp;
using mf::passes::getShape;

namespace {

/// The pattern input * cosine + (-second half, first half) * sine.
struct Rotation {
  Value input, cosine, sine;
};

/// Returns the value of which `value` is the first or the second half along the
/// last dimension.
Value getHalved(Value value, bool isSecond) {
  auto slice = getOnlyReadOp<SliceOp>(value);
  if (!slice)
    return {};
  ArrayRef<int64_t> whole = getShape(slice.getInput());
  ArrayRef<int64_t> sizes = slice.getSizes();
  if (whole.empty() || whole.back() % 2 != 0 ||
      sizes.drop_back() != whole.drop_back())
    return {};
  int64_t half = whole.back() / 2;
  bool fits =
      sizes.back() == half && slice.getStarts().back() == (isSecond ? half : 0);
  return fits ? slice.getInput() : Value();
}

/// Returns the value of which `value` has the halves swapped and the first of
/// them negated.
Value getTurned(Value value) {
  auto concat = getOnlyReadOp<ConcatOp>(value);
  if (!concat || concat.getInputs().size() != 2 ||
      concat.getAxis() + 1 != getShape(value).size())
    return {};
  auto negated = getOnlyReadOp<NegOp>(concat.getInputs()[0]);
  if (!negated)
    return {};
  Value input = getHalved(negated.getInput(), /*isSecond=*/true);
  bool isSame =
      input && getHalved(concat.getInputs()[1], /*isSecond=*/false) == input;
  return isSame ? input : Value();
}

/// Returns whether `value` is computed from frozen parameters alone, so that it
/// needs no gradient.
bool isTable(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto get = dyn_cast_or_null<GetParamOp>(op)) {
    auto param =
        SymbolTable::lookupNearestSymbolFrom<ParamOp>(get, get.getParamAttr());
    return param && param.getFrozen();
  }
  return isa_and_nonnull<ComputeOpInterface>(op) &&
         llvm::all_of(op->getOperands(), isTable);
}

/// Returns whether the tables have the form that mf.rotary_position_embedding
/// requires.
bool fits(const Rotation &rotation) {
  auto input = cast<RankedTensorType>(rotation.input.getType());
  auto table = cast<RankedTensorType>(rotation.cosine.getType());
  return rotation.cosine.getType() == rotation.sine.getType() &&
         table.getRank() >= 1 &&
         table.getShape().back() == input.getShape().back() &&
         isTable(rotation.cosine) && isTable(rotation.sine);
}

std::optional<Rotation> match(MulOp straight, MulOp turned) {
  if (!straight || !turned)
    return std::nullopt;
  Rotation rotation;
  rotation.input = getTurned(turned.getLhs());
  rotation.cosine = straight.getRhs();
  rotation.sine = turned.getRhs();
  if (!rotation.input || straight.getLhs() != rotation.input || !fits(rotation))
    return std::nullopt;
  return rotation;
}

std::optional<Rotation> match(AddOp sum) {
  auto lhs = getOnlyReadOp<MulOp>(sum.getLhs());
  auto rhs = getOnlyReadOp<MulOp>(sum.getRhs());
  std::optional<Rotation> rotation = match(lhs, rhs);
  return rotation ? rotation : match(rhs, lhs);
}

FusionCandidate getCandidate(AddOp sum, Rotation rotation) {
  std::string name = mf::passes::getCellPrefix(sum.getCellName()) + "rope";
  FusionCandidate candidate;
  candidate.results = {sum.getResult()};
  candidate.setPlace(sum, name);
  candidate.kernelsBefore = 7;
  candidate.build = [=](OpBuilder &builder) mutable -> SmallVector<Value, 1> {
    return {mf::passes::createNamed<RotaryPositionEmbeddingOp>(
                builder, sum.getLoc(), name, rotation.input, rotation.cosine,
                rotation.sine)
                .getResult()};
  };
  return candidate;
}

struct FuseRotaryPass : mf::passes::PrintingPass<
                            mf::passes::impl::FuseRotaryBase<FuseRotaryPass>> {
  using PrintingPass::PrintingPass;

  void runOnOperation() override {
    ModelOp model = getOperation();
    Fusion fusion(model, RotaryPositionEmbeddingOp::getOperationName(),
                  printPlan);
    for (LayerOp layer : model.getBody().getOps<LayerOp>())
      for (AddOp sum : layer.getBody().getOps<AddOp>())
        if (std::optional<Rotation> rotation = match(sum))
          fusion.add(getCandidate(sum, *rotation));
    fusion.run("rotary", &mf::ir::FusionsAttr::getRotary);
  }
};

} // namespace
