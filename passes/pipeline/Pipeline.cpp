//===- Pipeline.cpp - The named pipeline of a training step ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/pipeline/Pipeline.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/config/ReadConfig.h"

using namespace mlir;

// Most passes have one option, which is whether they print their plan.

/// Operators are fused before any setting refers to them by name.
static void addFusions(OpPassManager &model,
                       const mf::passes::TrainingStepOptions &options) {
  using namespace mf::passes;
  model.addPass(createFuseRotary({options.printPlan}));
  model.addPass(createFuseSwiGlu({options.printPlan}));
  model.addPass(createGroupMatmuls({options.printPlan}));
  model.addPass(createFuseTokenPermute({options.printPlan}));
  model.addPass(createFuseTopKRouter({options.printPlan}));
  model.addPass(createFuseHyperConnections({options.printPlan}));
}

void mf::passes::buildMarkingPipeline(OpPassManager &manager,
                                      const TrainingStepOptions &options) {
  ReadConfigOptions readConfig;
  readConfig.file = options.config;
  readConfig.gradientAccumulationSteps = options.gradientAccumulationSteps;
  readConfig.schedule = options.schedule;
  readConfig.quiet = options.quiet;
  // A report has the settings of a model and then what its layers get.
  const auto settings = std::make_shared<llvm::StringMap<llvm::json::Object>>();
  LayerReportHandler settingsHandler, layersHandler;
  if (options.layerReportHandler) {
    settingsHandler = [settings](llvm::json::Object report) {
      const std::string model = report.getString("model")->str();
      (*settings)[model] = std::move(report);
    };
    layersHandler = [settings, handler = options.layerReportHandler](
                        llvm::json::Object report) {
      llvm::json::Object whole = settings->lookup(*report.getString("model"));
      for (auto &[key, value] : report)
        whole[key] = std::move(value);
      handler(std::move(whole));
    };
  }
  manager.addPass(
      createReadConfig(readConfig, options.configText, settingsHandler));

  OpPassManager &model = manager.nest<ir::ModelOp>();
  // Models whose importer already inserted adapters are not changed.
  model.addPass(createInsertAdapters({options.printPlan}));
  addFusions(model, options);
  model.addPass(createPartition());
  // Whole sequences are not changed.
  model.addPass(createSplitSequence({options.printPlan}));
  model.addPass(createInterleaveRows({options.printPlan}));
  ChunkLossOptions chunkLoss;
  chunkLoss.chunks = options.lossChunks;
  model.addPass(createChunkLoss(chunkLoss));
  // On a mesh that has only stages, these passes and mf-localize do not change
  // the model.
  model.addPass(createPropagateLayouts());
  model.addPass(createLowerReshards());
  // Collectives are recomputed and swapped like other operators. The ranks that
  // hold the same value are known only while there are layouts.
  MarkMemoryOptions mark;
  mark.quiet = options.quiet;
  model.addPass(
      createMarkMemory(mark, layersHandler, options.layerNamesHandler));
}

/// Compares the limit of memory with a device, if there is one.
static void addDeviceCheck(OpPassManager &manager,
                           const mf::passes::TrainingStepOptions &options) {
  if (options.target.empty())
    return;
  mf::passes::CheckDeviceOptions check;
  check.targetName = options.target;
  check.file = options.config;
  check.hbm = options.hbm;
  manager.addPass(mf::passes::createCheckDevice(check, options.configText));
}

void mf::passes::buildTrainingStepPipeline(OpPassManager &manager,
                                           const TrainingStepOptions &options) {
  buildMarkingPipeline(manager, options);
  addDeviceCheck(manager, options);
  OpPassManager &model = manager.nest<ir::ModelOp>();
  model.addPass(createLocalize());
  model.addPass(createShardOptimizer({options.printPlan}));
  model.addPass(createReduceInBackward({options.printPlan}));
  model.addPass(createAccountTrainer());
  model.addPass(createBuildBackward());
  // The certificate is for the proof of the results of all later passes.
  if (options.certify)
    model.addPass(createCertify());
  model.addNestedPass<ir::ChunkOp>(createInsertRecompute({options.printPlan}));
  model.addNestedPass<ir::ChunkOp>(createOverlapCopies({options.printPlan}));
  model.addNestedPass<ir::ChunkOp>(createInsertSwap({options.printPlan}));
  SplitChunksOptions split;
  if (options.recomputeTasks)
    split.recomputeTasks = RecomputeTasks::Always;
  model.addPass(createSplitChunks(split));
  model.addPass(createInsertOptimizer());
  if (options.certify)
    model.addPass(createCertifyUpdate());
  if (options.foldGradientScales && !options.forCann)
    model.addPass(createFoldGradientScales({options.printPlan}));
  model.addPass(createBuildSchedule({options.printPlan}));

  LowerToAscendOptions lower;
  lower.fuseAccumulation = options.fuseAccumulation;
  manager.addPass(createLowerToAscend(lower));
  CastOnceOptions cast;
  cast.apply = options.castOnce;
  cast.hbm = options.hbm;
  cast.printPlan = options.printPlan;
  manager.addNestedPass<ascend::ProgramOp>(createCastOnce(cast));
  if (options.fuseElementwise && !options.forCann)
    manager.addNestedPass<ascend::ProgramOp>(
        createFuseElementwise({options.printPlan}));
  if (options.forCann)
    manager.addNestedPass<ascend::ProgramOp>(
        createLegalizeForCann({options.printPlan}));
  PlanMemoryOptions plan;
  memory::StepPlanOptions effort = options.planEffort;
  // Stages often have the same chunks, so packings are cached.
  if (!effort.memo)
    effort.memo = std::make_shared<memory::PackMemo>();
  plan.hbm = options.hbm;
  plan.slack = options.forCann;
  plan.limitsProgram = options.limitsProgram;
  manager.addNestedPass<ascend::ProgramOp>(
      createPlanMemory(plan, effort, options.memoryLimitHandler,
                       memory::planStep, options.memoryProblemHandler));
  addDeviceCheck(manager, options);
  if (options.verify)
    manager.addPass(createVerifyProgram(options.proofHandler));
  if (options.stageReportHandler)
    manager.addPass(createPrintMemory({/*json=*/true, options.target},
                                      options.stageReportHandler));
}

void mf::passes::registerAll() {
  registerMfPasses();
  PassPipelineRegistration<TrainingStepOptions>(
      "mf-training-step", "Lower a model to one planned program per stage",
      buildTrainingStepPipeline);
}
