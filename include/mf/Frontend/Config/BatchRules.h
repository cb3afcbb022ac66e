//===- BatchRules.h - Number of samples in a step ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Computes gradient accumulation, micro-batches and batch size after the resets
// that MindSpore Transformers applies, and the step wrapper that follows from
// them.
//
//===----------------------------------------------------------------------===//

#ifndef MF_FRONTEND_CONFIG_BATCHRULES_H
#define MF_FRONTEND_CONFIG_BATCHRULES_H

#include "mf/Frontend/Config/TrainingConfig.h"

namespace mf {

/// The numbers that define the data of a training step.
struct EffectiveBatch {
  /// The samples of one micro-batch on one data-parallel rank.
  int64_t batchSize = 1;
  int64_t dataParallel = 1;
  /// The number of copies of the network in one pass, each with different
  /// samples.
  int64_t microBatchInterleaveNum = 1;
  /// The micro-batches of the pipeline; 1 without stages.
  int64_t microBatchNum = 1;
  /// The accumulated forward-backward passes; 1 with stages.
  int64_t gradientAccumulationSteps = 1;
  /// The samples of one optimizer step over all ranks.
  int64_t globalBatchSize = 1;
  /// The samples that one rank reads per step: the global batch, or a part of
  /// it if full_batch is off.
  int64_t samplesPerRank = 1;
  /// The wrapper that is really used, and whether it clips gradients.
  std::string wrapperType;
  bool useClipGrad = false;

  /// Returns the forward-backward passes of one rank per optimizer step. All
  /// copies run in each of them.
  int64_t getPasses() const {
    return microBatchNum * gradientAccumulationSteps;
  }
  /// Returns how many groups of batchSize samples one rank runs per optimizer
  /// step.
  int64_t getMicroBatches() const {
    return getPasses() * microBatchInterleaveNum;
  }
};

/// Applies the rules. Accumulation is reset to 1 (with a warning) if there are
/// stages, or outside of semi-auto and auto parallel mode. micro_batch_num is
/// reset to 1 without stages. `gradientAccumulationSteps` is the command line's
/// value and overrides the YAML's.
EffectiveBatch resolveBatch(const TrainingConfig &config,
                            std::optional<int64_t> gradientAccumulationSteps,
                            DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_FRONTEND_CONFIG_BATCHRULES_H
