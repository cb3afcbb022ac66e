//===- FuseTopKRouter.cpp - Places of tokens as one operator --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/Passes.h"
#include "passes/PrintedPlan.h"
#include "passes/fuse/Fusion.h"
#include "passes/fuse/PlacesSite.h"

namespace mf::passes {
#define GEN_PASS_DEF_FUSETOPKROUTER
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;
using mf::passes::createNamed;
using mf::passes::Fusion;
using mf::passes::FusionCandidate;
using mf::passes::PlacesSite;

namespace {

/// Returns the values that replace those of the site: dispatch and combine of
/// the fused operator, and the mask of choices that have a place.
SmallVector<Value, 1> build(OpBuilder &builder, PlacesSite site,
                            const std::string &cell) {
  mlir::Location loc = site.mask.getLoc();
  builder.setInsertionPoint(site.mask);
  auto router = createNamed<TopKRouterOp>(
      builder, loc, cell + "topkrouter",
      TypeRange{site.dispatch.getType(), site.combine.getType()}, site.chosen,
      site.isKMajor, StringAttr(), RecomputeKindAttr(), SwapAttr());
  Value index = createNamed<CastOp>(builder, loc, cell + "cast",
                                    site.kept.getType(), router.getCombine());
  Value place = createNamed<RemainderOp>(
      builder, loc, cell + "mod", index.getType(), index,
      llvm::APFloat(static_cast<double>(site.capacity + 1)), StringAttr(),
      RecomputeKindAttr(), SwapAttr());
  Value kept = createNamed<CompareScalarOp>(
      builder, loc, cell + "not_equal", place.getType(), place,
      Comparison::NotEqual, llvm::APFloat(0.0), StringAttr(),
      RecomputeKindAttr(), SwapAttr());
  return {router.getDispatch(), router.getCombine(), kept};
}

FusionCandidate getCandidate(PlacesSite site) {
  std::string cell = mf::passes::getCellPrefix(site.mask.getCellName());
  FusionCandidate candidate;
  candidate.site = Fusion::getSite(site.mask, cell + "topkrouter");
  candidate.site.kernelsBefore = site.numKernels;
  // These are the router and three kernels for choices that have a place.
  candidate.site.kernelsAfter = 4;
  candidate.site.keptBefore = mf::passes::getBytes(site.dispatch) +
                              mf::passes::getBytes(site.combine) +
                              mf::passes::getBytes(site.kept);
  candidate.site.keptAfter = candidate.site.keptBefore;
  candidate.results = {site.dispatch.getResult(), site.combine.getResult(),
                       site.kept.getResult()};
  candidate.build = [=](OpBuilder &builder) {
    return build(builder, site, cell);
  };
  return candidate;
}

struct FuseTopKRouterPass
    : mf::passes::PrintingPass<
          mf::passes::impl::FuseTopKRouterBase<FuseTopKRouterPass>> {
  using PrintingPass::PrintingPass;

  void runOnOperation() override {
    ModelOp model = getOperation();
    Fusion fusion(model, TopKRouterOp::getOperationName(), printPlan);
    for (LayerOp layer : model.getBody().getOps<LayerOp>())
      for (OneHotOp mask : layer.getBody().getOps<OneHotOp>())
        if (std::optional<PlacesSite> site = mf::passes::matchPlaces(mask))
          fusion.add(getCandidate(*site));
    fusion.run(&mf::FusionConfig::route);
  }
};

} // namespace
