//===- BatchRules.cpp - Number of samples in a step -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/BatchRules.h"
#include "mf/Frontend/Config/KnownKeys.h"

namespace mf {

static std::string describeReset(llvm::StringRef key, int64_t value) {
  return key.str() + " is reset from " + std::to_string(value) + " to 1";
}

/// Returns the accumulation steps after the resets.
static int64_t resolveAccumulation(const TrainingConfig &config,
                                   std::optional<int64_t> override,
                                   DiagnosticList &diagnostics) {
  const llvm::StringRef key =
      known::nameOf(&RunnerConfig::gradientAccumulationSteps);
  Location place;
  if (!override)
    place = config.runner.node[key].getLocation();
  int64_t steps = override.value_or(config.runner.gradientAccumulationSteps);
  if (steps < 1) {
    diagnostics.error(place, "expected an int of at least 1 for " + quote(key) +
                                 ", but got " + llvm::Twine(steps));
    return 1;
  }
  if (steps == 1)
    return 1;
  if (!config.parallel.isSemiOrAuto()) {
    diagnostics.warning(
        place, "gradient accumulation works in semi-auto parallel mode only; " +
                   describeReset(key, steps) + " in " +
                   getName(config.parallel.parallelMode) + " mode");
    return 1;
  }
  if (config.parallel.pipelineStage > 1) {
    // A value of the command line has no place in the YAML, so that the message
    // points at the reason.
    if (override)
      place = known::find(config.parallel, &ParallelConfig::pipelineStage)
                  .getLocation();
    diagnostics.warning(
        place, describeReset(key, steps) + ": with " +
                   known::nameOf(&ParallelConfig::pipelineStage) +
                   " > 1 the micro-batches are the accumulation; set " +
                   known::nameOf(&ParallelConfig::microBatchNum) + " instead");
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
    diagnostics.warning(
        known::find(parallel, &ParallelConfig::microBatchNum).getLocation(),
        describeReset(known::nameOf(&ParallelConfig::microBatchNum),
                      parallel.microBatchNum) +
            ": there are no pipeline stages");
  return 1;
}

/// Multiplies sizes that come from the user and may overflow.
static int64_t multiply(std::initializer_list<int64_t> factors,
                        const Location &place, DiagnosticList &diagnostics) {
  int64_t product = 1;
  for (int64_t factor : factors) {
    if (!__builtin_mul_overflow(product, factor, &product))
      continue;
    diagnostics.error(place,
                      "the global batch size, which is a multiple of " +
                          quote(known::nameOf(&RunnerConfig::batchSize)) +
                          ", does not fit into 64 bits");
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
  batch.globalBatchSize = multiply(
      {batch.batchSize, batch.dataParallel, batch.microBatchNum,
       batch.microBatchInterleaveNum, batch.gradientAccumulationSteps},
      known::find(config.runner, &RunnerConfig::batchSize).getLocation(),
      diagnostics);
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
