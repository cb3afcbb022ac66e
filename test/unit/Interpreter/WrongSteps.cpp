//===- WrongSteps.cpp - How updates, order and lowering could go wrong ----===//
// SPDX-License-Identifier: Apache-2.0

#include "BreakOperators.h"
#include "WrongRewrites.h"
#include "dialects/ascend/AscendDialect.h"

using namespace mlir;

namespace mf::tools {

namespace {

ascend::LaunchOp findLaunch(ModuleOp module, llvm::StringRef kernel) {
  for (auto launch : findAll<ascend::LaunchOp>(module))
    if (launch.getKernel() == kernel)
      return launch;
  return {};
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
      if (auto steps = dyn_cast<ascend::FusedKernelsAttr>(named.getValue())) {
        SmallVector<StringAttr> kernels(steps.getKernels());
        auto *found = llvm::find(
            kernels, StringAttr::get(module.getContext(), "aclnnMul"));
        if (found == kernels.end())
          continue;
        *found = StringAttr::get(module.getContext(), "aclnnAdd");
        const NamedAttribute changed(
            named.getName(),
            ascend::FusedKernelsAttr::get(
                module.getContext(), kernels, steps.getOperands(),
                steps.getAttributes(), steps.getTypes()));
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

const WrongRewrite steps[] = {
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

llvm::ArrayRef<WrongRewrite> getWrongSteps() { return steps; }

} // namespace mf::tools
