//===- ReadConfig.cpp - A training YAML into a typed attribute ------------===//

#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/config/ConfigAttributes.h"

namespace mf::passes {
#define GEN_PASS_DEF_READCONFIG
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf;

namespace {

/// Pipelines of other shapes than ours: an error where layers would have other
/// places, else a warning.
void checkPipeline(const TrainingConfig &config, DiagnosticList &diagnostics) {
  const ParallelConfig &parallel = config.parallel;
  for (llvm::StringRef key : {"stage_num", "start_stage"}) {
    Node value = config.model.config[key];
    if (value.getInt().value_or(0) != 0)
      diagnostics.error(value.getLocation(),
                        "a part of a pipeline ('" + key +
                            "') is not lowered; expected the whole model");
  }
  if (parallel.seqSplitNum > 1)
    diagnostics.warning(
        parallel.node["seq_split_num"].getLocation(),
        "seq_split_num " + llvm::Twine(parallel.seqSplitNum) +
            " is not lowered; each micro-batch is one whole sequence");
  if (parallel.pipelineStage == 1 || parallel.pipelineScheduler == "1f1b")
    return;
  mf::Location place =
      parallel.parallelNode["pipeline_config"]["pipeline_scheduler"]
          .getLocation();
  std::string text =
      "pipeline_scheduler '" + parallel.pipelineScheduler + "' is not lowered";
  if (parallel.pipelineScheduler == "zero_bubble_v")
    diagnostics.error(place, text + "; expected '1f1b'");
  else
    diagnostics.warning(place, text + "; the order is that of 1f1b");
}

/// Options of the step around the model that have no counterpart in it.
void checkStep(const TrainingConfig &config, DiagnosticList &diagnostics) {
  auto warn = [&](bool isAsked, const Node &section, llvm::StringRef key,
                  llvm::StringRef instead) {
    if (isAsked)
      diagnostics.warning(section[key].getLocation(),
                          key + " is not lowered; " + instead);
  };
  const RunnerWrapper &wrapper = config.wrapper;
  warn(wrapper.calculatePerTokenLoss, wrapper.node, "calculate_per_token_loss",
       "the loss is the mean of each micro-batch's");
  warn(wrapper.useSkipDataByGlobalNorm, wrapper.node,
       "use_skip_data_by_global_norm", "no step is skipped for its norm");
  // Only if the YAML asks for it: the template's scale is dynamic.
  bool isScaleMoving = wrapper.scaleSense.kind == LossScale::Kind::Dynamic ||
                       wrapper.scaleSense.kind == LossScale::Kind::Adaptive;
  warn(isScaleMoving && wrapper.node["scale_sense"], wrapper.node,
       "scale_sense", "the loss scale keeps its first value");
  warn(config.optimizer.swap, config.optimizer.node, "swap",
       "the optimizer's state stays on the device");
  warn(config.parallel.enableParallelOptimizer &&
           config.parallel.dataParallel > 1,
       config.parallel.parallelNode, "enable_parallel_optimizer",
       "each rank holds the whole state of the optimizer");
}

/// What this compiler cannot lower, although MindSpore Transformers can.
void checkLowerable(const TrainingConfig &config, DiagnosticList &diagnostics) {
  if (config.optimizer.kind == OptimizerKind::Unsupported)
    diagnostics.error(config.optimizer.node.getLocation(),
                      "optimizer '" + config.optimizer.type +
                          "' is not supported; expected AdamW, "
                          "FP32StateAdamWeightDecay or AdamWeightDecay");
  if (config.lrSchedule.kind == LrScheduleKind::Unsupported)
    diagnostics.error(config.lrSchedule.node.getLocation(),
                      "learning rate schedule '" + config.lrSchedule.type +
                          "' is not supported");
  if (config.wrapper.maxGradNorm <= 0)
    diagnostics.error(config.wrapper.node.getLocation(),
                      "max_grad_norm must be above 0");
  auto warnUnsharded = [&](llvm::StringRef key, int64_t size) {
    if (size > 1)
      diagnostics.warning(config.parallel.node.getLocation(),
                          key + " " + llvm::Twine(size) +
                              " is not lowered; the program is that of one "
                              "rank with whole tensors");
  };
  warnUnsharded("model_parallel", config.parallel.modelParallel);
  warnUnsharded("context_parallel", config.parallel.contextParallel);
  checkPipeline(config, diagnostics);
  checkStep(config, diagnostics);
}

struct ReadConfigPass : mf::passes::impl::ReadConfigBase<ReadConfigPass> {
  using ReadConfigBase::ReadConfigBase;

  void runOnOperation() override {
    MLIRContext *context = &getContext();
    if (file.empty()) {
      getOperation().emitError("mf-read-config needs the option file=<yaml>");
      return signalPassFailure();
    }
    if (gradientAccumulationSteps < 0) {
      getOperation().emitError("expected gradient-accumulation-steps to be "
                               "positive, or 0 for the YAML's, but got ")
          << gradientAccumulationSteps.getValue();
      return signalPassFailure();
    }
    DiagnosticList diagnostics;
    TrainingConfig config = parseTrainingConfigFile(file, diagnostics);
    if (diagnostics.hasErrors())
      return fail(diagnostics);
    std::optional<int64_t> accumulation;
    if (gradientAccumulationSteps > 0)
      accumulation = gradientAccumulationSteps;
    EffectiveBatch batch = resolveBatch(config, accumulation, diagnostics);
    StageMapOptions options = getStageMapOptions(config, diagnostics);
    checkLowerable(config, diagnostics);
    if (diagnostics.hasErrors())
      return fail(diagnostics);
    mf::passes::emitDiagnostics(getOperation().getLoc(), diagnostics);
    if (failed(ir::ParallelAttr::verify(
            [&] { return getOperation().emitError(); }, options.pipelineStages,
            options.interleave, batch.getMicroBatches(), Attribute())))
      return signalPassFailure();

    auto training =
        mf::passes::getTrainingAttr(context, config, options, batch);
    for (auto model : getOperation().getOps<ir::ModelOp>())
      model.setTrainingAttr(training);
    emitRemark(options, batch);
  }

private:
  void emitRemark(const StageMapOptions &options, const EffectiveBatch &batch) {
    remark::analysis(
        getOperation().getLoc(),
        remark::RemarkOpts::name("Config").category("config").function(file))
        << remark::add("one training step")
        << remark::metric("stages", options.pipelineStages)
        << remark::metric("interleave", options.interleave)
        << remark::metric("micro-batches", batch.getMicroBatches());
  }

  void fail(const DiagnosticList &diagnostics) {
    mf::passes::emitDiagnostics(getOperation().getLoc(), diagnostics);
    signalPassFailure();
  }
};

} // namespace
