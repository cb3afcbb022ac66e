//===- Pipeline.cpp - The named pipeline of a training step ---------------===//

#include "passes/pipeline/Pipeline.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/config/ReadConfig.h"

using namespace mlir;

/// Operators become one before anything speaks of them by name.
static void addFusions(OpPassManager &model,
                       const mf::passes::TrainingStepOptions &options) {
  using namespace mf::passes;
  FuseRotaryOptions rotary;
  rotary.printPlan = options.printPlan;
  model.addPass(createFuseRotary(rotary));
  FuseSwiGluOptions swiglu;
  swiglu.printPlan = options.printPlan;
  model.addPass(createFuseSwiGlu(swiglu));
  GroupMatmulsOptions group;
  group.printPlan = options.printPlan;
  model.addPass(createGroupMatmuls(group));
  FuseTokenPermuteOptions permute;
  permute.printPlan = options.printPlan;
  model.addPass(createFuseTokenPermute(permute));
  FuseTopKRouterOptions router;
  router.printPlan = options.printPlan;
  model.addPass(createFuseTopKRouter(router));
}

void mf::passes::buildMarkingPipeline(OpPassManager &manager,
                                      const TrainingStepOptions &options) {
  ReadConfigOptions readConfig;
  readConfig.file = options.config;
  readConfig.gradientAccumulationSteps = options.gradientAccumulationSteps;
  readConfig.schedule = options.schedule;
  manager.addPass(options.configText
                      ? createReadConfig(readConfig, *options.configText)
                      : createReadConfig(readConfig));

  OpPassManager &model = manager.nest<ir::ModelOp>();
  // Models whose importer was told of adapters have them here already.
  InsertAdaptersOptions adapters;
  adapters.printPlan = options.printPlan;
  model.addPass(createInsertAdapters(adapters));
  addFusions(model, options);
  model.addPass(createPartition());
  // Whole sequences stay as they are.
  SplitSequenceOptions splitSequence;
  splitSequence.printPlan = options.printPlan;
  model.addPass(createSplitSequence(splitSequence));
  InterleaveRowsOptions interleaveRows;
  interleaveRows.printPlan = options.printPlan;
  model.addPass(createInterleaveRows(interleaveRows));
  ChunkLossOptions chunkLoss;
  chunkLoss.chunks = options.lossChunks;
  model.addPass(createChunkLoss(chunkLoss));
  // On a mesh of stages alone these and mf-localize leave the model as it is.
  model.addPass(createPropagateLayouts());
  model.addPass(createLowerReshards());
  // Collectives are recomputed and swapped like other operators; whose ranks
  // have the same value is known as long as there are layouts.
  MarkMemoryOptions mark;
  mark.quiet = options.quiet;
  model.addPass(createMarkMemory(mark, options.layerReportHandler));
}

void mf::passes::buildTrainingStepPipeline(OpPassManager &manager,
                                           const TrainingStepOptions &options) {
  buildMarkingPipeline(manager, options);
  OpPassManager &model = manager.nest<ir::ModelOp>();
  model.addPass(createLocalize());
  ShardOptimizerOptions shardOptimizer;
  shardOptimizer.printPlan = options.printPlan;
  model.addPass(createShardOptimizer(shardOptimizer));
  ReduceInBackwardOptions reduce;
  reduce.printPlan = options.printPlan;
  model.addPass(createReduceInBackward(reduce));
  model.addPass(createBuildBackward());
  // For the proof of what the passes from here on leave.
  model.addPass(createCertify());
  InsertRecomputeOptions recompute;
  recompute.printPlan = options.printPlan;
  model.addNestedPass<ir::ChunkOp>(createInsertRecompute(recompute));
  OverlapCopiesOptions overlap;
  overlap.printPlan = options.printPlan;
  model.addNestedPass<ir::ChunkOp>(createOverlapCopies(overlap));
  InsertSwapOptions swap;
  swap.printPlan = options.printPlan;
  model.addNestedPass<ir::ChunkOp>(createInsertSwap(swap));
  SplitChunksOptions split;
  if (options.recomputeTasks)
    split.recomputeTasks = RecomputeTasks::Always;
  model.addPass(createSplitChunks(split));
  model.addPass(createInsertOptimizer());
  if (options.foldGradientScales && !options.forCann) {
    FoldGradientScalesOptions fold;
    fold.printPlan = options.printPlan;
    model.addPass(createFoldGradientScales(fold));
  }
  BuildScheduleOptions schedule;
  schedule.printPlan = options.printPlan;
  model.addPass(createBuildSchedule(schedule));

  LowerToAscendOptions lower;
  lower.fuseAccumulation = options.fuseAccumulation;
  manager.addPass(createLowerToAscend(lower));
  CastOnceOptions cast;
  cast.apply = options.castOnce;
  cast.hbm = options.hbm;
  cast.printPlan = options.printPlan;
  manager.addNestedPass<ascend::ProgramOp>(createCastOnce(cast));
  if (options.fuseElementwise && !options.forCann) {
    FuseElementwiseOptions elementwise;
    elementwise.printPlan = options.printPlan;
    manager.addNestedPass<ascend::ProgramOp>(
        createFuseElementwise(elementwise));
  }
  PlanMemoryOptions plan;
  memory::StepPlanOptions effort = options.planEffort;
  // Stages often have the same chunks.
  if (!effort.memo)
    effort.memo = std::make_shared<memory::PackMemo>();
  plan.hbm = options.hbm;
  plan.slack = options.forCann;
  manager.addNestedPass<ascend::ProgramOp>(
      createPlanMemory(plan, effort, options.memoryLimitHandler,
                       memory::planStep, options.memoryProblemHandler));
  if (options.verify)
    manager.addPass(createVerifyProgram());
  if (options.stageReportHandler)
    manager.addPass(createPrintMemory(options.stageReportHandler));
}

void mf::passes::registerAll() {
  registerMfPasses();
  PassPipelineRegistration<TrainingStepOptions>(
      "mf-training-step", "Lower a model to one planned program per stage",
      buildTrainingStepPipeline);
}
