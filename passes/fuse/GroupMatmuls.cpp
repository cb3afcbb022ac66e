//===- GroupMatmuls.cpp - The products of all experts as one kernel -------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/Passes.h"
#include "passes/PrintedPlan.h"
#include "passes/fuse/Fusion.h"

namespace mf::passes {
#define GEN_PASS_DEF_GROUPMATMULS
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;
using mf::passes::Fusion;
using mf::passes::FusionCandidate;

namespace {

FusionCandidate getCandidate(ExpertMatmulOp products) {
  FusionCandidate candidate;
  candidate.results = {products.getResult()};
  candidate.setPlace(products, products.getCellName());
  candidate.keptBefore = mf::passes::getBytes(products.getInput());
  candidate.keptAfter = candidate.keptBefore;
  candidate.build = [=](OpBuilder &builder) mutable -> SmallVector<Value, 1> {
    return {mf::passes::createNamed<GroupedMatmulOp>(
                builder, products.getLoc(), products.getCellName(),
                products.getInput(), products.getWeight(), products.getCounts(),
                products.getTransposeWeight())
                .getResult()};
  };
  return candidate;
}

struct GroupMatmulsPass
    : mf::passes::PrintingPass<
          mf::passes::impl::GroupMatmulsBase<GroupMatmulsPass>> {
  using PrintingPass::PrintingPass;

  void runOnOperation() override {
    ModelOp model = getOperation();
    Fusion fusion(model, GroupedMatmulOp::getOperationName(), printPlan);
    for (LayerOp layer : model.getBody().getOps<LayerOp>())
      for (ExpertMatmulOp op : layer.getBody().getOps<ExpertMatmulOp>())
        fusion.add(getCandidate(op));
    fusion.run("group_matmuls", &mf::ir::FusionsAttr::getGroupMatmuls);
  }
};

} // namespace
