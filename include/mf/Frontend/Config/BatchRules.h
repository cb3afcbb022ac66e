//===- BatchRules.h - Number of samples in a step ---------------*- C++ -*-===//
//
// Gradient accumulation, micro-batches and batch size after MindSpore
// Transformers' resets, and the step wrapper that follows from them.
//
//===----------------------------------------------------------------------===//

#ifndef MF_CONFIG_BATCHRULES_H
#define MF_CONFIG_BATCHRULES_H

#include "mf/Frontend/Config/TrainingConfig.h"

namespace mf {

/// The numbers a training step is built from.
struct EffectiveBatch {
  /// Samples of one micro-batch on one data-parallel rank.
  int64_t batchSize = 1;
  int64_t dataParallel = 1;
  /// Copies of the network in one pass, each on samples of its own.
  int64_t microBatchInterleaveNum = 1;
  /// Micro-batches of the pipeline; 1 without stages.
  int64_t microBatchNum = 1;
  /// Accumulated forward-backward passes; 1 with stages.
  int64_t gradientAccumulationSteps = 1;
  /// Samples of one optimizer step over all ranks.
  int64_t globalBatchSize = 1;
  /// Samples one rank reads per step: the global batch, or its part if
  /// full_batch is off.
  int64_t samplesPerRank = 1;
  /// The wrapper that is really used, and whether it clips.
  std::string wrapperType;
  bool useClipGrad = false;

  /// Forward-backward passes of one rank per optimizer step, in each of which
  /// run all copies.
  int64_t getPasses() const {
    return microBatchNum * gradientAccumulationSteps;
  }
  /// Parts of batchSize samples that one rank runs per optimizer step.
  int64_t getMicroBatches() const {
    return getPasses() * microBatchInterleaveNum;
  }
};

/// Applies the rules: accumulation is reset to 1 (with a warning) with stages
/// or outside semi-auto and auto parallel mode, micro_batch_num is reset to 1
/// without stages. `gradientAccumulationSteps` is the command line's value and
/// replaces the YAML's.
EffectiveBatch resolveBatch(const TrainingConfig &config,
                            std::optional<int64_t> gradientAccumulationSteps,
                            DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_CONFIG_BATCHRULES_H
