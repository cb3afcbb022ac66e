//===- WrongRewrites.cpp - How each pass could go wrong -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "WrongRewrites.h"
#include "BreakOperators.h"

using namespace mlir;

namespace mf::tools {

namespace {

bool padsWithAnotherToken(ModuleOp module) {
  findAll<ir::ModelOp>(module)[0].setPadTokenId(3);
  return true;
}

bool startsAdaptersWithOnes(ModuleOp module) {
  for (auto param : findAll<ir::ParamOp>(module))
    if (param.getSymName().ends_with("lora_b")) {
      param.setInitAttr(
          ir::InitAttr::get(module.getContext(), ir::InitKind::Ones, 0.0));
      return true;
    }
  return false;
}

bool exchangesTables(ModuleOp module) {
  return swapTwoOfOneType(findAll<ir::RotaryPositionEmbeddingOp>(module)[0], 1);
}

bool exchangesGateAndUp(ModuleOp module) {
  for (auto fused : findAll<ir::SwiGluOp>(module))
    if (auto both = fused.getInput().getDefiningOp<ir::ConcatOp>())
      return swapTwoOfOneType(both, 0);
  return false;
}

bool transposesAWeightOfExperts(ModuleOp module) {
  auto product = findAll<ir::GroupedMatmulOp>(module)[1];
  product.setTransposeWeight(!product.getTransposeWeight());
  return true;
}

bool doesNotPutTokensBack(ModuleOp module) {
  return replaceWithOperand(findAll<ir::TokenUnpermuteOp>(module)[0], 0);
}

bool addsAPieceOfTheLossTwice(ModuleOp module) {
  for (auto add : findAll<ir::AddOp>(module))
    if (add.getLhs().getDefiningOp<ir::CrossEntropyOp>()) {
      add.getLhsMutable().assign(add.getRhs());
      return true;
    }
  return false;
}

bool servesTokensInTurn(ModuleOp module) {
  findAll<ir::TopKRouterOp>(module)[0].setKMajor(false);
  return true;
}

bool addsWhatIsRead(ModuleOp module) {
  auto reads = findAll<ir::MhcPreOp>(module)[0].getReads();
  findAll<ir::MhcPostOp>(module)[0].getSharesMutable().assign(reads);
  return true;
}

bool exchangesPlacements(ModuleOp module) {
  auto layers = findAll<ir::LayerOp>(module);
  ir::PlacementAttr first = layers[1].getPlacementAttr();
  layers[1].setPlacementAttr(layers[2].getPlacementAttr());
  layers[2].setPlacementAttr(first);
  return first != layers[1].getPlacementAttr();
}

bool exchangesLayers(ModuleOp module) {
  auto layers = findAll<ir::LayerOp>(module);
  ir::PlacementAttr first = layers[1].getPlacementAttr();
  layers[1].setPlacementAttr(layers[2].getPlacementAttr());
  layers[2].setPlacementAttr(first);
  layers[1]->moveAfter(layers[2]);
  return true;
}

bool losesAnAttribute(ModuleOp module) {
  auto matmul = findAll<ir::MatmulOp>(module)[0];
  matmul.setTransposeB(false);
  return true;
}

bool exchangesBlocks(ModuleOp module) {
  return swapTwoOfOneType(ir::getReturn(findAll<ir::LayerOp>(module)[1]), 0);
}

/// The first operator of the kind that takes the product of a layer takes one
/// of its factors.
template <typename OpT> bool takesAFactorOfAProduct(ModuleOp module) {
  for (auto op : findAll<OpT>(module))
    if (auto product = op.getInput().template getDefiningOp<ir::MulOp>()) {
      op->setOperand(0, product->getOperand(0));
      return true;
    }
  return false;
}

bool readsAnotherPieceOfTheTokens(ModuleOp module) {
  for (auto slice : findAll<ir::SliceOp>(module)) {
    SmallVector<int64_t> starts(slice.getStarts());
    if (starts.back() == 0)
      continue;
    starts.back() = 0;
    slice.setStarts(starts);
    return true;
  }
  return false;
}

bool countsAPiecesLabels(ModuleOp module) {
  findAll<ir::CrossEntropyOp>(module)[0].getCountedMutable().clear();
  return true;
}

bool doesNotAddWhatRanksLookUp(ModuleOp module) {
  return replaceWithOperand(findAll<ir::AllReduceOp>(module)[0], 0);
}

bool countsPartsOfAnotherSize(ModuleOp module) {
  for (auto param : findAll<ir::ParamOp>(module))
    if (param.getInit().getKind() == ir::InitKind::Coordinate) {
      param.setInitAttr(
          ir::InitAttr::get(module.getContext(), ir::InitKind::Coordinate, 4));
      return true;
    }
  return false;
}

bool gathersAnotherParameter(ModuleOp module) {
  for (auto gather : findAll<ir::AllGatherOp>(module)) {
    auto read = gather.getInput().getDefiningOp<ir::GetParamOp>();
    if (read && read.getParam() == "layers.1.w1.weight") {
      read.setParam("layers.0.w1.weight");
      return true;
    }
  }
  return false;
}

bool changesWhatItMirrors(ModuleOp module) {
  for (auto mirror : findAll<ir::MirrorOp>(module)) {
    auto read = mirror.getInput().getDefiningOp<ir::GetParamOp>();
    if (!read)
      continue;
    OpBuilder builder(mirror);
    auto twice = ir::ScaleOp::create(builder, mirror.getLoc(), read.getResult(),
                                     builder.getF64FloatAttr(2.0), nullptr,
                                     nullptr, nullptr);
    mirror->setOperand(0, twice);
    return true;
  }
  return false;
}

bool dropsAGradientWhereTwoMeet(ModuleOp module) {
  return replaceWithOperand(findBehindCut<ir::AddOp>(module)[0], 0);
}

bool addsAGradientTwice(ModuleOp module) {
  auto add = findBehindCut<ir::AddOp>(module)[0];
  add->setOperand(1, add->getOperand(0));
  return true;
}

bool differentiatesByTheWrongFactor(ModuleOp module) {
  return swapTwoOfOneType(findBehindCut<ir::SiluGradOp>(module)[0], 0);
}

bool forgetsATransposition(ModuleOp module) {
  for (auto matmul : findBehindCut<ir::MatmulOp>(module))
    if (matmul.getOperand(1).getType() ==
        RankedTensorType::get({8, 8}, Float32Type::get(module.getContext()))) {
      matmul.setTransposeB(!matmul.getTransposeB());
      return true;
    }
  return false;
}

bool losesAResidualConnection(ModuleOp module) {
  return replaceWithOperand(findAll<ir::AddOp>(module)[0], 1);
}

bool recomputesFromTheWrongValue(ModuleOp module) {
  auto barrier = findAll<ir::BarrierOp>(module)[0];
  auto chunk = barrier->getParentOfType<ir::ChunkOp>();
  for (auto add : chunk.getBody().getOps<ir::AddOp>())
    if (add.getType() == barrier.getType() && add->isBeforeInBlock(barrier)) {
      barrier->setOperand(0, add.getResult());
      return true;
    }
  return false;
}

bool skipsARecomputedOperator(ModuleOp module) {
  return replaceWithOperand(findBehindCut<ir::SiluOp>(module)[0], 0);
}

bool offloadsTheWrongValue(ModuleOp module) {
  auto offload = findAll<ir::OffloadOp>(module)[0];
  Operation *maker = offload.getTensor().getDefiningOp();
  offload->setOperand(0, maker->getOperand(0));
  return true;
}

bool swapsTwoResiduals(ModuleOp module) {
  auto forward = findAll<ir::ForwardOp>(module)[0];
  return swapTwoOfOneType(ir::getReturn(forward), 1);
}

bool swapsTwoGradients(ModuleOp module) {
  // Swaps two gradients of weights of the same shape, such as those of the
  // layer's two matrices.
  for (auto backward : findAll<ir::BackwardOp>(module))
    if (swapTwoOfOneType(ir::getReturn(backward), 0))
      return true;
  return false;
}

bool returnsTheWrongOutput(ModuleOp module) {
  auto forward = findAll<ir::ForwardOp>(module)[0];
  ir::ReturnOp terminator = ir::getReturn(forward);
  for (Value residual : terminator.getValues().drop_front())
    if (residual.getType() == terminator.getOperand(0).getType()) {
      terminator->setOperand(0, residual);
      return true;
    }
  return false;
}

const WrongRewrite list[] = {
    {"mf-read-config", "PadsWithAnotherToken", stagesYaml, padsWithAnotherToken,
     "loss of step"},
    {"mf-insert-adapters", "StartsAdaptersWithOnes", adaptedYaml,
     startsAdaptersWithOnes, "loss of step 1"},
    {"mf-fuse-rotary", "ExchangesTables", fusedYaml, exchangesTables,
     "loss of step 1"},
    {"mf-fuse-swiglu", "ExchangesGateAndUp", fusedYaml, exchangesGateAndUp,
     "loss of step 1"},
    {"mf-group-matmuls", "TransposesAWeightOfExperts", fusedYaml,
     transposesAWeightOfExperts, "loss of step 1"},
    {"mf-fuse-token-permute", "DoesNotPutTokensBack", fusedYaml,
     doesNotPutTokensBack, "loss of step 1"},
    {"mf-fuse-top-k-router", "ServesTokensInTurn", fusedYaml,
     servesTokensInTurn, "loss of step 1"},
    {"mf-fuse-hyper-connections", "AddsWhatIsRead", streamsYaml, addsWhatIsRead,
     "loss of step 1"},
    {"mf-chunk-loss", "AddsAPieceOfTheLossTwice", piecesYaml,
     addsAPieceOfTheLossTwice, "loss of step 1"},
    {"mf-partition", "ExchangesPlacements", stagesYaml, exchangesPlacements,
     "is placed with layers that it does not follow"},
    {"mf-partition", "ExchangesLayers", stagesYaml, exchangesLayers,
     "loss of step 1"},
    {"mf-mark-memory", "LosesAnAttribute", stagesYaml, losesAnAttribute,
     "loss of step 1"},
    {"mf-split-sequence", "ReadsAnotherPieceOfTheTokens", shardedYaml,
     readsAnotherPieceOfTheTokens, "loss of step 1"},
    {"mf-split-sequence", "CountsAPiecesLabels", shardedYaml,
     countsAPiecesLabels, "loss of step 1"},
    {"mf-interleave-rows", "ExchangesBlocks", copiesYaml, exchangesBlocks,
     "loss of step 1"},
    {"mf-propagate-layouts", "ReshardsTheWrongValue", shardedYaml,
     takesAFactorOfAProduct<ir::ReshardOp>, "loss of step 1"},
    {"mf-lower-reshards", "GathersTheWrongValue", shardedYaml,
     takesAFactorOfAProduct<ir::AllGatherOp>, "loss of step 1"},
    {"mf-localize", "DoesNotAddWhatRanksLookUp", shardedYaml,
     doesNotAddWhatRanksLookUp, "loss of step 1"},
    {"mf-localize", "CountsPartsOfAnotherSize", shardedYaml,
     countsPartsOfAnotherSize, "loss of step 1"},
    {"mf-shard-optimizer", "GathersAnotherParameter", shardedYaml,
     gathersAnotherParameter, "loss of step 1"},
    {"mf-reduce-in-backward", "ChangesWhatItMirrors", summandsYaml,
     changesWhatItMirrors, "loss of step 1"},
    {"mf-build-backward", "DropsAGradientWhereTwoMeet", stagesYaml,
     dropsAGradientWhereTwoMeet, "gradient of 'embedding.weight'"},
    {"mf-build-backward", "AddsAGradientTwice", stagesYaml, addsAGradientTwice,
     "gradient of 'embedding.weight'"},
    {"mf-build-backward", "DifferentiatesByTheWrongFactor", stagesYaml,
     differentiatesByTheWrongFactor, "gradient of 'embedding.weight'"},
    {"mf-build-backward", "ForgetsATransposition", stagesYaml,
     forgetsATransposition, "gradient of 'layers.0.norm.weight'"},
    {"mf-build-backward", "LosesAResidualConnection", stagesYaml,
     losesAResidualConnection, "loss of step 1"},
    {"mf-certify", "DropsAGradientWhereTwoMeet", stagesYaml,
     dropsAGradientWhereTwoMeet, "gradient 'embedding.weight'"},
    {"mf-insert-recompute", "RecomputesFromTheWrongValue", stagesYaml,
     recomputesFromTheWrongValue, "gradient 'embedding.weight'"},
    {"mf-insert-recompute", "SkipsARecomputedOperator", stagesYaml,
     skipsARecomputedOperator, "gradient 'embedding.weight'"},
    {"mf-overlap-copies", "LosesAResidualConnection", copiesYaml,
     losesAResidualConnection, "loss of step 1"},
    {"mf-insert-swap", "PrefetchesTheWrongValue", swapsYaml,
     prefetchesTheWrongValue, "gradient 'embedding.weight'"},
    {"mf-insert-swap", "OffloadsTheWrongValue", swapsYaml,
     offloadsTheWrongValue, "gradient 'embedding.weight'"},
    {"mf-split-chunks", "SwapsTwoResiduals", stagesYaml, swapsTwoResiduals,
     "gradient 'embedding.weight'"},
    {"mf-split-chunks", "SwapsTwoSwappedResiduals", swapsYaml,
     swapsTwoResiduals, "gradient 'embedding.weight'"},
    {"mf-split-chunks", "SwapsTwoGradients", swapsYaml, swapsTwoGradients,
     "gradient 'embedding.weight'"},
    {"mf-split-chunks", "ReturnsTheWrongOutput", stagesYaml,
     returnsTheWrongOutput, "loss of step 1"},
};

} // namespace

llvm::ArrayRef<WrongRewrite> getWrongRewrites() {
  static const std::vector<WrongRewrite> all = [] {
    std::vector<WrongRewrite> all(std::begin(list), std::end(list));
    llvm::append_range(all, getWrongSteps());
    return all;
  }();
  return all;
}

} // namespace mf::tools
