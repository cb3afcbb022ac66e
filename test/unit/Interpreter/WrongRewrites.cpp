//===- WrongRewrites.cpp - How each pass could go wrong -------------------===//

#include "WrongRewrites.h"
#include "BreakOperators.h"
#include "dialects/ascend/AscendDialect.h"

using namespace mlir;

namespace mf::tools {

namespace {

bool replaceWithOperand(Operation *op, unsigned number) {
  op->getResult(0).replaceAllUsesWith(op->getOperand(number));
  op->erase();
  return true;
}

ascend::LaunchOp findLaunch(ModuleOp module, llvm::StringRef kernel) {
  for (auto launch : findAll<ascend::LaunchOp>(module))
    if (launch.getKernel() == kernel)
      return launch;
  return {};
}

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

bool skipsAnUpdate(ModuleOp module) {
  findAll<ir::AdamWOp>(module)[1].erase();
  return true;
}

bool decaysANorm(ModuleOp module) {
  for (auto update : findAll<ir::AdamWOp>(module))
    if (update.getParam() == "layers.0.norm.weight") {
      update.setWeightDecay(llvm::APFloat(0.1));
      return true;
    }
  return false;
}

bool doesNotClip(ModuleOp module) {
  findAll<ir::ScaleGradientsOp>(module).back().erase();
  return true;
}

bool doesNotDivideByTheLossScale(ModuleOp module) {
  findAll<ir::ScaleGradientsOp>(module).front().erase();
  return true;
}

bool dropsAFactor(ModuleOp module) {
  findAll<ir::AdamWOp>(module)[1].getFactorsMutable().erase(0);
  return true;
}

bool takesTheNormOfScaledGradients(ModuleOp module) {
  auto norms = findAll<ir::GradientNormsOp>(module)[0];
  norms.getFactorsMutable().clear();
  return true;
}

bool clipsByTheNormOfOneStage(ModuleOp module) {
  return replaceWithOperand(findAll<ir::AllReduceOp>(module)[0], 0);
}

bool weighsALossWrongly(ModuleOp module) {
  findAll<ir::LossGradientOp>(module)[0].setValue(llvm::APFloat(1.0));
  return true;
}

bool swapsMicroBatchesOfTwoLoads(ModuleOp module) {
  auto loads = findAll<ir::LoadOp>(module);
  loads[0].setMicroBatch(1);
  loads[1].setMicroBatch(0);
  return loads[0].getInput() == loads[1].getInput();
}

bool skipsABackward(ModuleOp module) {
  for (auto run : findAll<ir::RunBackwardOp>(module))
    if (run.getInputGradients().empty()) {
      run.erase();
      return true;
    }
  return false;
}

bool readsTheWrongFrame(ModuleOp module) {
  auto runs = findAll<ir::RunBackwardOp>(module);
  swapOperands(runs[0], 0, runs[1], 0);
  return true;
}

bool sendsTheWrongMicroBatch(ModuleOp module) {
  auto sends = findAll<ir::SendOp>(module);
  sends[1]->setOperand(0, sends[0]->getOperand(0));
  return true;
}

bool receivesInAnotherOrder(ModuleOp module) {
  auto receives = findAll<ir::ReceiveOp>(module);
  receives[0].setMicroBatch(1);
  return true;
}

bool neverSends(ModuleOp module) {
  findAll<ir::SendOp>(module)[0].erase();
  return true;
}

bool doesNotUpdateOneStage(ModuleOp module) {
  // Without the sum over the stages nobody waits for the other.
  auto schedules = findAll<ir::RunUpdateOp>(module);
  schedules[0].erase();
  return true;
}

bool launchesWithSwappedInputs(ModuleOp module) {
  return swapTwoOfOneType(findLaunch(module, "aclnnSiluBackward"), 0);
}

bool keepsTheLastStepsGradients(ModuleOp module) {
  for (auto launch : findAll<ascend::LaunchOp>(module)) {
    auto routine = launch->getParentOfType<ascend::RoutineOp>();
    if (routine.getSymName() == "begin" && launch.getInputs().empty() &&
        launch.getOutputs()[0].getType() !=
            ascend::BufferType::get(
                module.getContext(),
                RankedTensorType::get({},
                                      Float32Type::get(module.getContext())),
                ascend::Space::Hbm)) {
      launch.erase();
      return true;
    }
  }
  return false;
}

bool doesNotAddAGradient(ModuleOp module) {
  findLaunch(module, "aclnnInplaceAdd").erase();
  return true;
}

bool takesAnotherStep(ModuleOp module) {
  for (auto launch : findAll<ascend::LaunchOp>(module))
    for (NamedAttribute named : launch.getKernelAttributes())
      if (auto steps = dyn_cast<ascend::StepsAttr>(named.getValue())) {
        SmallVector<StringAttr> kernels(steps.getKernels());
        auto *found = llvm::find(
            kernels, StringAttr::get(module.getContext(), "aclnnMul"));
        if (found == kernels.end())
          continue;
        *found = StringAttr::get(module.getContext(), "aclnnAdd");
        const NamedAttribute changed(
            named.getName(),
            ascend::StepsAttr::get(module.getContext(), kernels,
                                   steps.getOperands(), steps.getAttributes(),
                                   steps.getTypes()));
        launch.setKernelAttributesAttr(
            DictionaryAttr::get(module.getContext(), changed));
        return true;
      }
  return false;
}

bool convertsAnotherParameter(ModuleOp module) {
  SmallVector<ascend::LaunchOp> casts;
  for (auto launch : findAll<ascend::LaunchOp>(module))
    if (launch.getKernel() == "aclnnCast" &&
        launch->getParentOfType<ascend::RoutineOp>().getSymName() == "begin")
      casts.push_back(launch);
  if (casts.size() < 2)
    return false;
  casts[1]->setOperand(0, casts[0]->getOperand(0));
  return true;
}

bool givesTwoParametersOnePlace(ModuleOp module) {
  auto statics = findAll<ascend::StaticOp>(module);
  for (ascend::StaticOp a : statics)
    for (ascend::StaticOp b : statics)
      if (a != b && a->getParentOp() == b->getParentOp() &&
          a.getRole() == ascend::Role::Parameter &&
          b.getRole() == ascend::Role::Gradient && a.getType() == b.getType()) {
        b.setOffset(a.getOffset());
        return true;
      }
  return false;
}

bool givesAllTemporariesOnePlace(ModuleOp module) {
  for (auto alloc : findAll<ascend::AllocOp>(module))
    alloc.setOffset(0);
  return true;
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
    {"mf-insert-optimizer", "SkipsAnUpdate", stagesYaml, skipsAnUpdate,
     "parameter 'layers.0.norm.weight': AdamW"},
    {"mf-insert-optimizer", "DecaysANorm", stagesYaml, decaysANorm,
     "parameter 'layers.0.norm.weight': AdamW"},
    {"mf-insert-optimizer", "DoesNotClip", stagesYaml, doesNotClip, "AdamW"},
    {"mf-insert-optimizer", "DoesNotDivideByTheLossScale", stagesYaml,
     doesNotDivideByTheLossScale, "AdamW"},
    {"mf-insert-optimizer", "ClipsByTheNormOfOneStage", stagesYaml,
     clipsByTheNormOfOneStage, "waits for the other members of 'pp'"},
    {"mf-certify-update", "SkipsAnUpdate", stagesYaml, skipsAnUpdate,
     "parameter 'layers.0.norm.weight'"},
    {"mf-fold-gradient-scales", "DropsAFactor", stagesYaml, dropsAFactor,
     "parameter 'layers.0.norm.weight'"},
    {"mf-fold-gradient-scales", "TakesTheNormOfScaledGradients", stagesYaml,
     takesTheNormOfScaledGradients, "loss of step 2"},
    {"mf-build-schedule", "WeighsALossWrongly", stagesYaml, weighsALossWrongly,
     "gradient 'embedding.weight'"},
    {"mf-build-schedule", "SwapsMicroBatchesOfTwoLoads", stagesYaml,
     swapsMicroBatchesOfTwoLoads, "loss of step 1"},
    {"mf-build-schedule", "SkipsABackward", stagesYaml, skipsABackward,
     "gradient 'embedding.weight'"},
    {"mf-build-schedule", "ReadsTheWrongFrame", stagesYaml, readsTheWrongFrame,
     "gradient 'embedding.weight'"},
    {"mf-build-schedule", "SendsTheWrongMicroBatch", stagesYaml,
     sendsTheWrongMicroBatch, "loss of step 1"},
    {"mf-build-schedule", "ReceivesInAnotherOrder", stagesYaml,
     receivesInAnotherOrder, "expected a message of micro-batch 1"},
    {"mf-build-schedule", "NeverSends", stagesYaml, neverSends,
     "expected a message of micro-batch 0"},
    {"mf-build-schedule", "DoesNotUpdateOneStage", stagesYaml,
     doesNotUpdateOneStage, "waits for the other members of 'pp'"},
    {"mf-lower-to-ascend", "LaunchesWithSwappedInputs", stagesYaml,
     launchesWithSwappedInputs, "gradient 'embedding.weight'"},
    {"mf-lower-to-ascend", "KeepsTheLastStepsGradients", stagesYaml,
     keepsTheLastStepsGradients, "gradient 'embedding.weight'"},
    {"mf-lower-to-ascend", "DoesNotAddAGradient", stagesYaml,
     doesNotAddAGradient, "gradient 'embedding.weight'"},
    {"ascend-fuse-elementwise", "TakesAnotherStep", stagesYaml,
     takesAnotherStep, "loss of step"},
    {"ascend-cast-once", "ConvertsAnotherParameter", castsYaml,
     convertsAnotherParameter, "loss of step 1"},
    {"ascend-legalize-for-cann", "LaunchesWithSwappedInputs", cannYaml,
     launchesWithSwappedInputs, "gradient 'embedding.weight'"},
    {"ascend-plan-memory", "GivesTwoParametersOnePlace", stagesYaml,
     givesTwoParametersOnePlace, "loss of step"},
    {"ascend-plan-memory", "GivesAllTemporariesOnePlace", stagesYaml,
     givesAllTemporariesOnePlace, "gradient 'embedding.weight'"},
};

} // namespace

llvm::ArrayRef<WrongRewrite> getWrongRewrites() { return list; }

} // namespace mf::tools
