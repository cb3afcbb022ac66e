//===- WrongRewriteTest.cpp - What a wrong rewrite looks like -------------===//
//
// The IR after each pass, broken as that pass could break it. Running it must
// show that it is wrong. A pass of the pipeline without such a case fails.
//
//===----------------------------------------------------------------------===//

#include "LoweredSteps.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/raw_os_ostream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <iostream>

using namespace mlir;
using mf::tools::LoweredSteps;
using mf::tools::Snapshot;

namespace ascend = mf::ascend;
namespace ir = mf::ir;

namespace {

/// Two stages; the SiLU and its product run again in backward. A large eps
/// makes AdamW depend on the gradients' size, and so on clipping.
constexpr llvm::StringLiteral stages = R"(
parallel_config: {pipeline_stage: 2, micro_batch_num: 2}
recompute_config: {select_recompute: True}
optimizer: {type: AdamW, betas: [0.9, 0.95], eps: 1.e-3, weight_decay: 0.1}
runner_wrapper:
  {type: MFTrainOneStepCell, scale_sense: 8, use_clip_grad: True, max_grad_norm: 0.01}
)";

/// One stage, whose two SiLUs are swapped.
constexpr llvm::StringLiteral swaps = R"(
runner_config: {gradient_accumulation_steps: 2}
swap_config:
  swap: True
  op_swap:
    - {op_name: 'feed_forward\.w1\.activation\.silu', backward_prefetch: 2, layers: True}
)";

const LoweredSteps &getSteps(llvm::StringRef yaml) {
  static LoweredSteps ofStages(stages), ofSwaps(swaps);
  return yaml == stages ? ofStages : ofSwaps;
}

//===----------------------------------------------------------------------===//
// Finding what to break
//===----------------------------------------------------------------------===//

template <typename OpT> SmallVector<OpT> findAll(Operation *root) {
  SmallVector<OpT> found;
  root->walk([&](OpT op) { found.push_back(op); });
  return found;
}

/// Operators of backward in joint chunks.
template <typename OpT> SmallVector<OpT> findBehindCut(ModuleOp module) {
  SmallVector<OpT> found;
  for (auto cut : findAll<ir::CutOp>(module))
    for (auto op : cut->getBlock()->getOps<OpT>())
      if (cut->isBeforeInBlock(op))
        found.push_back(op);
  return found;
}

void swapOperands(Operation *a, unsigned aNumber, Operation *b,
                  unsigned bNumber) {
  Value first = a->getOperand(aNumber), second = b->getOperand(bNumber);
  a->setOperand(aNumber, second);
  b->setOperand(bNumber, first);
}

/// Swaps two operands of one type from number `first` on.
bool swapTwoOfOneType(Operation *op, unsigned first) {
  for (unsigned i = first; i < op->getNumOperands(); ++i)
    for (unsigned j = i + 1; j < op->getNumOperands(); ++j)
      if (op->getOperand(i).getType() == op->getOperand(j).getType() &&
          op->getOperand(i) != op->getOperand(j)) {
        swapOperands(op, i, op, j);
        return true;
      }
  return false;
}

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

//===----------------------------------------------------------------------===//
// Wrong rewrites
//===----------------------------------------------------------------------===//

struct WrongRewrite {
  const char *pass;
  const char *name;
  llvm::StringRef yaml;
  /// False if there is nothing to break.
  bool (*apply)(ModuleOp module);
};

bool padsWithAnotherToken(ModuleOp module) {
  findAll<ir::ModelOp>(module)[0].setPadTokenId(3);
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

bool prefetchesTheWrongValue(ModuleOp module) {
  auto prefetches = findAll<ir::PrefetchOp>(module);
  if (prefetches.size() < 2)
    return false;
  prefetches[0]->setOperand(0, prefetches[1]->getOperand(0));
  return true;
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
  // Of a weight of the same shape, that of the layer's other matrix.
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
    if (!run.getInputGradient()) {
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

bool givesTwoParametersOnePlace(ModuleOp module) {
  auto statics = findAll<ascend::StaticOp>(module);
  for (ascend::StaticOp a : statics)
    for (ascend::StaticOp b : statics)
      if (a != b && a->getParentOp() == b->getParentOp() &&
          a.getRole() == ascend::Role::Parameter &&
          b.getRole() == ascend::Role::Gradient && a.getType() == b.getType()) {
        b.setOffset(*a.getOffset());
        return true;
      }
  return false;
}

bool givesAllTemporariesOnePlace(ModuleOp module) {
  for (auto alloc : findAll<ascend::AllocOp>(module))
    alloc.setOffset(0);
  return true;
}

const WrongRewrite rewrites[] = {
    {"mf-read-config", "PadsWithAnotherToken", stages, padsWithAnotherToken},
    {"mf-partition", "ExchangesPlacements", stages, exchangesPlacements},
    {"mf-partition", "ExchangesLayers", stages, exchangesLayers},
    {"mf-mark-recompute", "LosesAnAttribute", stages, losesAnAttribute},
    {"mf-build-backward", "DropsAGradientWhereTwoMeet", stages,
     dropsAGradientWhereTwoMeet},
    {"mf-build-backward", "AddsAGradientTwice", stages, addsAGradientTwice},
    {"mf-build-backward", "DifferentiatesByTheWrongFactor", stages,
     differentiatesByTheWrongFactor},
    {"mf-build-backward", "ForgetsATransposition", stages,
     forgetsATransposition},
    {"mf-build-backward", "LosesAResidualConnection", stages,
     losesAResidualConnection},
    {"mf-insert-recompute", "RecomputesFromTheWrongValue", stages,
     recomputesFromTheWrongValue},
    {"mf-insert-recompute", "SkipsARecomputedOperator", stages,
     skipsARecomputedOperator},
    {"mf-insert-swap", "PrefetchesTheWrongValue", swaps,
     prefetchesTheWrongValue},
    {"mf-insert-swap", "OffloadsTheWrongValue", swaps, offloadsTheWrongValue},
    {"mf-split-chunks", "SwapsTwoResiduals", stages, swapsTwoResiduals},
    {"mf-split-chunks", "SwapsTwoSwappedResiduals", swaps, swapsTwoResiduals},
    {"mf-split-chunks", "SwapsTwoGradients", swaps, swapsTwoGradients},
    {"mf-split-chunks", "ReturnsTheWrongOutput", stages, returnsTheWrongOutput},
    {"mf-insert-optimizer", "SkipsAnUpdate", stages, skipsAnUpdate},
    {"mf-insert-optimizer", "DecaysANorm", stages, decaysANorm},
    {"mf-insert-optimizer", "DoesNotClip", stages, doesNotClip},
    {"mf-insert-optimizer", "DoesNotDivideByTheLossScale", stages,
     doesNotDivideByTheLossScale},
    {"mf-insert-optimizer", "ClipsByTheNormOfOneStage", stages,
     clipsByTheNormOfOneStage},
    {"mf-build-schedule", "WeighsALossWrongly", stages, weighsALossWrongly},
    {"mf-build-schedule", "SwapsMicroBatchesOfTwoLoads", stages,
     swapsMicroBatchesOfTwoLoads},
    {"mf-build-schedule", "SkipsABackward", stages, skipsABackward},
    {"mf-build-schedule", "ReadsTheWrongFrame", stages, readsTheWrongFrame},
    {"mf-build-schedule", "SendsTheWrongMicroBatch", stages,
     sendsTheWrongMicroBatch},
    {"mf-build-schedule", "ReceivesInAnotherOrder", stages,
     receivesInAnotherOrder},
    {"mf-build-schedule", "NeverSends", stages, neverSends},
    {"mf-build-schedule", "DoesNotUpdateOneStage", stages,
     doesNotUpdateOneStage},
    {"mf-lower-to-ascend", "LaunchesWithSwappedInputs", stages,
     launchesWithSwappedInputs},
    {"mf-lower-to-ascend", "KeepsTheLastStepsGradients", stages,
     keepsTheLastStepsGradients},
    {"mf-lower-to-ascend", "DoesNotAddAGradient", stages, doesNotAddAGradient},
    {"ascend-plan-memory", "GivesTwoParametersOnePlace", stages,
     givesTwoParametersOnePlace},
    {"ascend-plan-memory", "GivesAllTemporariesOnePlace", stages,
     givesAllTemporariesOnePlace},
};

//===----------------------------------------------------------------------===//
// Tests
//===----------------------------------------------------------------------===//

/// The last snapshot behind a run of `pass` that did something; 0 if none.
size_t findSnapshot(const LoweredSteps &steps, llvm::StringRef pass) {
  for (size_t i = steps.snapshots.size(); i-- > 1;)
    if (steps.snapshots[i].pass == pass && steps.snapshots[i].hasChanged)
      return i;
  return 0;
}

mf::interpreter::Comparison check(const LoweredSteps &steps, size_t index,
                                  ModuleOp after) {
  mf::interpreter::ComparisonOptions options;
  options.threads = 1;
  return mf::tools::checkRewrite(
      *mf::tools::getReference(steps.snapshots, index).module, after, options);
}

class WrongRewriteTest : public testing::TestWithParam<WrongRewrite> {};

TEST_P(WrongRewriteTest, IsCaught) {
  const WrongRewrite &rewrite = GetParam();
  const LoweredSteps &steps = getSteps(rewrite.yaml);
  size_t index = findSnapshot(steps, rewrite.pass);
  ASSERT_NE(index, 0U) << steps.messages;
  ModuleOp right = *steps.snapshots[index].module;
  EXPECT_THAT(check(steps, index, right).differences, testing::IsEmpty())
      << steps.messages;

  OwningOpRef<ModuleOp> wrong = right.clone();
  ASSERT_TRUE(rewrite.apply(*wrong)) << "nothing to break";
  ASSERT_TRUE(succeeded(verify(*wrong))) << "the verifier sees it already";
  mf::interpreter::Comparison comparison = check(steps, index, *wrong);
  EXPECT_FALSE(comparison.isSame());
  llvm::raw_os_ostream os(std::cout);
  comparison.print(os);
  os << '\n';
}

INSTANTIATE_TEST_SUITE_P(, WrongRewriteTest, testing::ValuesIn(rewrites),
                         [](const auto &info) {
                           std::string name;
                           for (char c : llvm::StringRef(info.param.pass))
                             name += c == '-' ? '_' : c;
                           return name + "_" + info.param.name;
                         });

TEST(WrongRewritesTest, EveryPassOfThePipelineHasOne) {
  for (llvm::StringRef yaml : {stages, swaps})
    for (const Snapshot &snapshot :
         llvm::ArrayRef(getSteps(yaml).snapshots).drop_front())
      EXPECT_TRUE(llvm::any_of(rewrites,
                               [&](const WrongRewrite &rewrite) {
                                 return rewrite.pass == snapshot.pass;
                               }))
          << snapshot.pass << " has no wrong rewrite that is caught";
  EXPECT_GT(getSteps(stages).snapshots.size(), 10U);
}

} // namespace
