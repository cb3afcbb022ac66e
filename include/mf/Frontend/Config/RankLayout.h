//===- RankLayout.h - The ranks of a training step --------------*- C++ -*-===//
//
// How many ranks share out stages, samples, sequences and tensors, after
// MindSpore Transformers' rules on parallel_config.
//
//===----------------------------------------------------------------------===//

#ifndef MF_CONFIG_RANKLAYOUT_H
#define MF_CONFIG_RANKLAYOUT_H

#include "mf/Frontend/Config/TrainingConfig.h"
#include "mf/Support/SampleOrder.h"

namespace mf {

/// Sizes of the axes of ranks, none below 1.
struct RankLayout {
  int64_t pipelineStages = 1;
  int64_t dataParallel = 1;
  int64_t contextParallel = 1;
  int64_t modelParallel = 1;
  /// How many of the context_parallel ranks exchange rows of a sequence for
  /// heads: all with ulysses_cp, none (1) with colossalai_cp.
  int64_t headParallel = 1;
  /// Ranks of a stage that share out the experts of a layer; they are of dp, cp
  /// and mp, no further ones.
  int64_t expertParallel = 1;
  /// Model-parallel ranks share out rows of the residual stream too.
  bool sequenceParallel = false;
  /// The rows of the data that a data-parallel rank reads.
  SampleOrder sampleOrder = SampleOrder::Whole;

  /// Parts into which attention's heads are cut.
  int64_t getHeadParts() const { return modelParallel * headParallel; }
  int64_t getNumRanks() const {
    return pipelineStages * dataParallel * contextParallel * modelParallel;
  }
};

/// Outside of semi-auto and auto parallel mode only samples are shared out: in
/// stand-alone mode not even they. Errors: sizes that do not divide, and
/// without full_batch a dataset_strategy that cuts rows into other parts.
RankLayout resolveRanks(const TrainingConfig &config,
                        DiagnosticList &diagnostics);

/// Ranks that cut each expert: of the legacy classes with a capacity
/// model_parallel, unless expert_model_parallel says 1. Then ranks that share
/// experts out have one place in model_parallel; else they are neighbours.
int64_t getExpertModelParallel(const TrainingConfig &config,
                               const RankLayout &ranks, bool isLegacy);

/// Checks that a model with `numExperts` experts can run on `ranks`; `isLegacy`
/// tells MindSpore Transformers' layer classes from its mcore training graph.
/// It is an error if experts or ranks do not divide by expert_parallel, if
/// model_parallel comes without use_seq_parallel, or if expert_model_parallel
/// has a value that the legacy classes do not know.
void checkExpertParallel(const TrainingConfig &config, const RankLayout &ranks,
                         int64_t numExperts, bool isLegacy,
                         DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_CONFIG_RANKLAYOUT_H
