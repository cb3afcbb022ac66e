//===- BatchRules.cpp - Number of samples in a step -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/BatchRules.h"

namespace mf {

static Location locate(const Node &section, llvm::StringRef key) {
  return section[key].getLocation();
}

/// Returns the accumulation steps after the resets.
static int64_t resolveAccumulation(const TrainingConfig &config,
                                   std::optional<int64_t> override,
                                   DiagnosticList &diagnostics) {
  Location place;
  if (!override)
    place = locate(config.runner.node, "gradient_accumulation_steps");
  int64_t steps = override.value_or(config.runner.gradientAccumulationSteps);
  if (steps < 1) {
    diagnostics.error(place, "expected an int of at least 1 for "
                             "'gradient_accumulation_steps', but got " +
                                 llvm::Twine(steps));
    return 1;
  }
  if (steps == 1)
    return 1;
  if (!config.parallel.isSemiOrAuto()) {
    diagnostics.warning(
        place, "gradient accumulation works in semi-auto parallel mode only; "
               "gradient_accumulation_steps is reset from " +
                   llvm::Twine(steps) + " to 1 in " +
                   getName(config.parallel.parallelMode) + " mode");
    return 1;
  }
  if (config.parallel.pipelineStage > 1) {
    // A value of the command line has no place in the YAML, so that the message
    // points at the reason.
    if (override)
      place = locate(config.parallel.node, "pipeline_stage");
    diagnostics.warning(
        place, "gradient_accumulation_steps is reset from " +
                   llvm::Twine(steps) +
                   " to 1: with pipeline_stage > 1 the micro-batches are the "
                   "accumulation; set micro_batch_num instead");
    return 1;
  }
  return steps;
}

static int64_t resolveMicroBatches(const TrainingConfig &config,
                                   DiagnosticList &diagnostics) {
  const ParallelConfig &parallel = config.parallel;
  if (parallel.pipelineStage > 1 && parallel.isSemiOrAuto())
    return parallel.microBatchNum;
  if (parallel.microBatchNum > 1)
    diagnostics.warning(locate(parallel.node, "micro_batch_num"),
                        "micro_batch_num is reset from " +
                            llvm::Twine(parallel.microBatchNum) +
                            " to 1: there are no pipeline stages");
  return 1;
}

/// Multiplies sizes that come from the user and may overflow.
static int64_t multiply(std::initializer_list<int64_t> factors,
                        const Location &place, DiagnosticList &diagnostics) {
  int64_t product = 1;
  for (int64_t factor : factors) {
    if (!__builtin_mul_overflow(product, factor, &product))
      continue;
    diagnostics.error(place, "the global batch size, which is a multiple of "
                             "'batch_size', does not fit into 64 bits");
    return INT64_MAX;
  }
  return product;
}

EffectiveBatch resolveBatch(const TrainingConfig &config,
                            std::optional<int64_t> gradientAccumulationSteps,
                            DiagnosticList &diagnostics) {
  const ParallelConfig &parallel = config.parallel;
  EffectiveBatch batch;
  batch.batchSize = config.runner.batchSize;
  batch.microBatchInterleaveNum = parallel.microBatchInterleaveNum;
  batch.dataParallel = parallel.isSemiOrAuto() ? parallel.dataParallel
                       : parallel.parallelMode == ParallelMode::StandAlone
                           ? 1
                           : parallel.getDeviceCount();
  batch.gradientAccumulationSteps =
      resolveAccumulation(config, gradientAccumulationSteps, diagnostics);
  batch.microBatchNum = resolveMicroBatches(config, diagnostics);
  batch.globalBatchSize =
      multiply({batch.batchSize, batch.dataParallel, batch.microBatchNum,
                batch.microBatchInterleaveNum, batch.gradientAccumulationSteps},
               locate(config.runner.node, "batch_size"), diagnostics);
  batch.samplesPerRank = parallel.fullBatch && parallel.isSemiOrAuto()
                             ? batch.globalBatchSize
                             : batch.globalBatchSize / batch.dataParallel;
  bool isPipelineWrapper = batch.microBatchNum > 1 ||
                           batch.gradientAccumulationSteps > 1 ||
                           parallel.pipelineStage > 1;
  batch.wrapperType =
      isPipelineWrapper ? "MFPipelineWithLossScaleCell" : config.wrapper.type;
  batch.useClipGrad = config.wrapper.useClipGrad.value_or(
      batch.wrapperType == "MFPipelineWithLossScaleCell");
  return batch;
}

} // namespace mf
