//===- LowerReshards.cpp - Changes of layout as collectives ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "LayoutVerifier.h"
#include "ReshardStep.h"
#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"

namespace mf::passes {
#define GEN_PASS_DEF_LOWERRESHARDS
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;
using namespace mf::passes;

/// Creates the operator that performs the step of `reshard`.
static Operation *createStep(OpBuilder &builder, ReshardOp reshard,
                             const ReshardStep &step) {
  Location loc = reshard.getLoc();
  Type type = reshard.getType();
  Value input = reshard.getInput();
  ArrayAttr axes = builder.getStrArrayAttr(step.axes);
  switch (step.kind) {
  case ReshardKind::AllReduce:
    return AllReduceOp::create(builder, loc, type, input, axes);
  case ReshardKind::ReduceScatter:
    return ReduceScatterOp::create(builder, loc, type, input, axes, step.dim);
  case ReshardKind::AllGather:
    return AllGatherOp::create(builder, loc, type, input, axes, step.dim,
                               step.replicated);
  case ReshardKind::AllToAll:
    return AllToAllOp::create(builder, loc, type, input, axes, step.dim,
                              step.concat);
  case ReshardKind::OwnPart:
    return OwnPartOp::create(builder, loc, type, input, axes, step.dim);
  case ReshardKind::Mirror:
    return MirrorOp::create(builder, loc, type, input, axes);
  }
  llvm_unreachable("unknown kind");
}

/// Sorts axes in the mesh's order, which is that of the axes of groups.
static Axes sortAsMesh(ArrayRef<StringRef> axes, MeshAttr mesh) {
  Axes sorted;
  for (auto axis : mesh.getAxes())
    if (llvm::is_contained(axes, axis.getValue()))
      sorted.push_back(axis.getValue());
  return sorted;
}

namespace {

struct LowerReshardsPass
    : mf::passes::impl::LowerReshardsBase<LowerReshardsPass> {
  void runOnOperation() override {
    ShardingVerifier verifier;
    for (auto layer : getOperation().getBody().getOps<LayerOp>()) {
      // The other operators do not change, so one check of them is enough.
      if (failed(verifyReshards(layer)))
        return signalPassFailure();
      SmallVector<ReshardOp> reshards(layer.getBody().getOps<ReshardOp>());
      for (ReshardOp reshard : reshards)
        lower(layer, reshard);
      if (failed(verifier.verify(layer)))
        return signalPassFailure();
    }
  }

  /// Layouts are verified, so there is one step between them.
  static void lower(LayerOp layer, ReshardOp reshard) {
    std::optional<ReshardStep> step = getReshardStep(
        getLayout(reshard.getInput()), getLayout(reshard.getResult()));
    if (!isAlongDimension(step->kind))
      step->axes = sortAsMesh(step->axes, MeshAttr::find(layer));
    OpBuilder builder(reshard);
    Operation *made = createStep(builder, reshard, *step);
    if (StringAttr name = reshard.getNameAttr())
      cast<ComputeOpInterface>(made).setCellName(name.getValue());
    remark::passed(layer.getLoc(), remark::RemarkOpts::name("Collective")
                                       .category("shard")
                                       .function(layer.getSymName()))
        << remark::add("{0} over {1}", mf::passes::getName(step->kind),
                       llvm::join(step->axes, " and "));
    reshard.replaceAllUsesWith(made->getResult(0));
    reshard.erase();
  }
};

} // namespace
