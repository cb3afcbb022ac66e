//===- FuseSwiGlu.cpp - SiLU and its product as one operator --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/Passes.h"
#include "passes/PrintedPlan.h"
#include "passes/fuse/Fusion.h"
#include "passes/fuse/SwiGluSite.h"

namespace mf::passes {
#define GEN_PASS_DEF_FUSESWIGLU
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;
using mf::passes::Fusion;
using mf::passes::FusionCandidate;
using mf::passes::SwiGluSite;

namespace {

/// Returns whether the tokens of a layer choose among experts.
bool hasRouter(LayerOp layer) {
  return !layer.getBody().getOps<TopKOp>().empty();
}

/// Returns whether gate and up are computed with one weight of each expert.
bool isOfExperts(const SwiGluSite &site) {
  Value value = site.whole;
  while (value && value.getDefiningOp<ReshapeOp>())
    value = value.getDefiningOp<ReshapeOp>().getInput();
  return value && isa_and_nonnull<ExpertMatmulOp, GroupedMatmulOp>(
                      value.getDefiningOp());
}

struct FuseSwiGluPass : mf::passes::PrintingPass<
                            mf::passes::impl::FuseSwiGluBase<FuseSwiGluPass>> {
  using PrintingPass::PrintingPass;

  void runOnOperation() override {
    ModelOp model = getOperation();
    isMcore = model.getFamily().value_or("").starts_with("mcore");
    auto layers = model.getBody().getOps<LayerOp>();
    // Classic layer classes with experts only fuse operators of layers with a
    // router.
    bool needsRouter = !isMcore && llvm::any_of(layers, hasRouter);
    Fusion fusion(model, SwiGluOp::getOperationName(), printPlan);
    for (LayerOp layer : layers) {
      bool isNever = needsRouter && !hasRouter(layer);
      for (MulOp product : layer.getBody().getOps<MulOp>())
        if (std::optional<SwiGluSite> site = mf::passes::matchSwiGlu(product)) {
          FusionCandidate candidate = getCandidate(*site);
          candidate.site.isNever = isNever;
          fusion.add(std::move(candidate));
        }
    }
    fusion.run(&mf::FusionConfig::swiglu);
  }

private:
  FusionCandidate getCandidate(SwiGluSite site);

  bool isMcore = false;
};

/// In classic classes the fused operator is a sibling of the product, in the
/// training graph it is in the Cell of the activation. If it is a single
/// primitive there, it keeps that name.
FusionCandidate FuseSwiGluPass::getCandidate(SwiGluSite site) {
  StringRef silu = site.silu.getCellName();
  StringRef product = site.product.getCellName();
  std::string cell = mf::passes::getCellPrefix(isMcore ? silu : product);
  std::string only = silu == product ? product.str() : "";

  FusionCandidate candidate;
  candidate.results = {site.product.getResult()};
  candidate.site =
      Fusion::getSite(site.product, only.empty() ? cell + "swiglu" : only);
  int64_t bytes = mf::passes::getBytes(site.product);
  candidate.site.kernelsBefore = site.whole ? 4 : 2;
  candidate.site.kernelsAfter = site.whole && !site.alternates() ? 1 : 2;
  candidate.site.keptBefore = (site.gate == site.up ? 2 : 3) * bytes;
  candidate.site.keptAfter = 2 * bytes;
  candidate.site.isAlways = isOfExperts(site);
  candidate.build = [=](OpBuilder &builder) mutable -> SmallVector<Value, 1> {
    mlir::Location loc = site.product.getLoc();
    Value both = mf::passes::joinGateAndUp(builder, site, cell, only);
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

} // namespace
