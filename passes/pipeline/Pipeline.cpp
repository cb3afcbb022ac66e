//===- Pipeline.cpp - The named pipeline of a training step ---------------===//

#include "passes/pipeline/Pipeline.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void mf::passes::buildTrainingStepPipeline(OpPassManager &manager,
                                           const TrainingStepOptions &options) {
  ReadConfigOptions readConfig;
  readConfig.file = options.config;
  readConfig.gradientAccumulationSteps = options.gradientAccumulationSteps;
  readConfig.schedule = options.schedule;
  manager.addPass(createReadConfig(readConfig));

  OpPassManager &model = manager.nest<ir::ModelOp>();
  model.addPass(createPartition());
  MarkMemoryOptions mark;
  mark.quiet = options.quiet;
  model.addPass(createMarkMemory(mark, options.layerReportHandler));
  // On a mesh of stages alone they leave the model as it is.
  model.addPass(createPropagateLayouts());
  model.addPass(createLowerReshards());
  model.addPass(createLocalize());
  ShardOptimizerOptions shardOptimizer;
  shardOptimizer.printPlan = options.printPlan;
  model.addPass(createShardOptimizer(shardOptimizer));
  model.addPass(createBuildBackward());
  InsertRecomputeOptions recompute;
  recompute.printPlan = options.printPlan;
  model.addNestedPass<ir::ChunkOp>(createInsertRecompute(recompute));
  InsertSwapOptions swap;
  swap.printPlan = options.printPlan;
  model.addNestedPass<ir::ChunkOp>(createInsertSwap(swap));
  model.addPass(createSplitChunks());
  model.addPass(createInsertOptimizer());
  BuildScheduleOptions schedule;
  schedule.printPlan = options.printPlan;
  model.addPass(createBuildSchedule(schedule));

  manager.addPass(createLowerToAscend());
  PlanMemoryOptions plan;
  plan.hbm = options.hbm;
  manager.addNestedPass<ascend::ProgramOp>(createPlanMemory(plan));
  if (options.stageReportHandler)
    manager.addPass(createPrintMemory(options.stageReportHandler));
}

void mf::passes::registerAll() {
  registerMfPasses();
  PassPipelineRegistration<TrainingStepOptions>(
      "mf-training-step", "Lower a model to one planned program per stage",
      buildTrainingStepPipeline);
}
