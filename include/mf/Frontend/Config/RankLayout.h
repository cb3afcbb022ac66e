//===- RankLayout.h - The ranks of a training step --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Computes over how many ranks stages, samples, sequences and tensors are
// distributed, by MindSpore Transformers' rules on parallel_config.
//
//===----------------------------------------------------------------------===//

#ifndef MF_FRONTEND_CONFIG_RANKLAYOUT_H
#define MF_FRONTEND_CONFIG_RANKLAYOUT_H

#include "mf/Frontend/Config/TrainingConfig.h"
#include "mf/Support/SampleOrder.h"

namespace mf {

/// The sizes of the axes of ranks, at least 1 each.
struct RankLayout {
  int64_t pipelineStages = 1;
  int64_t dataParallel = 1;
  int64_t contextParallel = 1;
  int64_t modelParallel = 1;
  /// The number of context_parallel ranks that exchange rows of a sequence for
  /// heads: all of them with ulysses_cp, none (1) with colossalai_cp.
  int64_t headParallel = 1;
  /// The number of ranks of a stage over which the experts of a layer are
  /// distributed. They belong to dp, cp and mp; there are no additional ranks.
  int64_t expertParallel = 1;
  /// True if the rows of the residual stream are also distributed over
  /// model-parallel ranks.
  bool sequenceParallel = false;
  /// The rows of the data that a data-parallel rank reads.
  SampleOrder sampleOrder = SampleOrder::Whole;

  /// Returns the number of parts into which attention's heads are cut.
  int64_t getHeadParts() const { return modelParallel * headParallel; }
  int64_t getNumRanks() const {
    return pipelineStages * dataParallel * contextParallel * modelParallel;
  }
};

/// Computes the layout. Outside of semi-auto and auto parallel mode only
/// samples are distributed, and in stand-alone mode not even these. Fails if
/// sizes are not divisible, and if a dataset_strategy without full_batch cuts
/// rows into other parts.
RankLayout resolveRanks(const TrainingConfig &config,
                        DiagnosticList &diagnostics);

/// Returns the key of the YAML for the number of ranks along an axis of the
/// mesh: `dp`, `cp`, `mp`, or a factor of one, such as `dp_0`.
llvm::StringRef getRankKey(llvm::StringRef axis, bool isOfDynamicGraph = false);

/// Returns the number of ranks over which each expert is cut. In legacy classes
/// with a capacity this is model_parallel, unless expert_model_parallel is 1.
/// In that case the ranks that hold different experts have the same position
/// along model_parallel; otherwise they are neighbours.
int64_t getExpertModelParallel(const TrainingConfig &config,
                               const RankLayout &ranks, bool isLegacy);

/// Checks that a model with `numExperts` experts can run on `ranks`. `isLegacy`
/// distinguishes MindSpore Transformers' layer classes from its mcore training
/// graph. It is an error if experts or ranks are not divisible by
/// expert_parallel, if model_parallel is used without use_seq_parallel, or if
/// the legacy classes do not support the value of expert_model_parallel.
void checkExpertParallel(const TrainingConfig &config, const RankLayout &ranks,
                         int64_t numExperts, bool isLegacy,
                         DiagnosticList &diagnostics);

/// Returns the number of blocks of rows into which norms and projections are
/// cut by model_config.fine_grain_interleave. It is 1 without that key, and if
/// no layer's weights are cut over ranks. Fails if the rows of the residual
/// stream are not distributed over ranks, as MindSpore Transformers requires.
int64_t resolveRowBlocks(const TrainingConfig &config, const RankLayout &ranks,
                         DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_FRONTEND_CONFIG_RANKLAYOUT_H
