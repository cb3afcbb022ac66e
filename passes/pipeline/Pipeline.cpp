//===- Pipeline.cpp - The named pipeline of a training step ---------------===//

#include "passes/pipeline/Pipeline.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/config/ReadConfig.h"

using namespace mlir;

/// Operators are fused before any setting refers to them by name.
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
  // Models whose importer already inserted adapters are not changed.
  InsertAdaptersOptions adapters;
  adapters.printPlan = options.printPlan;
  model.addPass(createInsertAdapters(adapters));
  addFusions(model, options);
  model.addPass(createPartition());
  // Whole sequences are not changed.
  SplitSequenceOptions splitSequence;
  splitSequence.printPlan = options.printPlan;
  model.addPass(createSplitSequence(splitSequence));
  InterleaveRowsOptions interleaveRows;
  interleaveRows.printPlan = options.printPlan;
  model.addPass(createInterleaveRows(interleaveRows));
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
  // The certificate is for the proof of the results of all later passes.
  if (options.certify)
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
  if (options.certify)
    model.addPass(createCertifyUpdate());
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
  if (options.forCann) {
    LegalizeForCannOptions legalize;
    legalize.printPlan = options.printPlan;
    manager.addNestedPass<ascend::ProgramOp>(createLegalizeForCann(legalize));
  }
  PlanMemoryOptions plan;
  memory::StepPlanOptions effort = options.planEffort;
  // Stages often have the same chunks, so packings are cached.
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
