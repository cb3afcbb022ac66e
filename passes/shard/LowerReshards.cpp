//===- LowerReshards.cpp - Changes of layout as collectives ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "LayoutVerifier.h"
#include "ReshardCollective.h"
#include "RuleAxes.h"
#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"

namespace mf::passes {
#define GEN_PASS_DEF_LOWERRESHARDS
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;
using namespace mf::passes;

/// Creates the operator that performs the collective of `reshard`.
static Operation *createCollective(OpBuilder &builder, ReshardOp reshard,
                                   const ReshardCollective &collective) {
  Location loc = reshard.getLoc();
  Type type = reshard.getType();
  Value input = reshard.getInput();
  ArrayAttr axes = builder.getStrArrayAttr(collective.axes);
  switch (collective.kind) {
  case ReshardKind::AllReduce:
    return AllReduceOp::create(builder, loc, type, input, axes);
  case ReshardKind::ReduceScatter:
    return ReduceScatterOp::create(builder, loc, type, input, axes,
                                   collective.dim);
  case ReshardKind::AllGather:
    return AllGatherOp::create(builder, loc, type, input, axes, collective.dim,
                               collective.replicated);
  case ReshardKind::AllToAll:
    return AllToAllOp::create(builder, loc, type, input, axes, collective.dim,
                              collective.concat);
  case ReshardKind::OwnPart:
    return OwnPartOp::create(builder, loc, type, input, axes, collective.dim);
  case ReshardKind::Mirror:
    return MirrorOp::create(builder, loc, type, input, axes);
  }
  llvm_unreachable("unknown kind");
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

  /// Layouts are verified, so there is one collective between them.
  static void lower(LayerOp layer, ReshardOp reshard) {
    std::optional<ReshardCollective> collective = getReshardCollective(
        getLayout(reshard.getInput()), getLayout(reshard.getResult()));
    if (!isAlongDimension(collective->kind))
      collective->axes =
          sortAsMesh(collective->axes, MeshSizes(MeshAttr::find(layer)));
    OpBuilder builder(reshard);
    Operation *made = createCollective(builder, reshard, *collective);
    if (StringAttr name = reshard.getNameAttr())
      cast<ComputeOpInterface>(made).setCellName(name.getValue());
    remark::passed(layer.getLoc(), remark::RemarkOpts::name("Collective")
                                       .category("shard")
                                       .function(layer.getSymName()))
        << remark::add("{0} over {1}", mf::passes::getName(collective->kind),
                       llvm::join(collective->axes, " and "));
    reshard.replaceAllUsesWith(made->getResult(0));
    reshard.erase();
  }
};

} // namespace
