//===- RankLayout.cpp - The ranks of a training step ----------------------===//

#include "mf/Config/RankLayout.h"

namespace mf {

/// Of context_parallel, the ranks that exchange rows for heads.
static int64_t resolveHeadParallel(const ParallelConfig &parallel,
                                   DiagnosticList &diagnostics) {
  if (parallel.contextParallelAlgo == "ulysses_cp")
    return parallel.contextParallel;
  if (parallel.contextParallelAlgo != "hybrid_cp")
    return 1;
  if (parallel.contextParallel % parallel.ulyssesDegreeInCp == 0)
    return parallel.ulyssesDegreeInCp;
  diagnostics.error(parallel.node["ulysses_degree_in_cp"].getLocation(),
                    "expected a divisor of context_parallel " +
                        llvm::Twine(parallel.contextParallel) +
                        " for 'ulysses_degree_in_cp', but got " +
                        llvm::Twine(parallel.ulyssesDegreeInCp));
  return 1;
}

/// Without full_batch each replica has a dataset of its own, which
/// dataset_strategy must say too.
static void checkDatasetStrategy(const ParallelConfig &parallel,
                                 DiagnosticList &diagnostics) {
  Node strategy = parallel.parallelNode["dataset_strategy"];
  Node parts;
  if (strategy.isList() && !strategy.getElements().empty() &&
      strategy.getElements().front().isList() &&
      !strategy.getElements().front().getElements().empty())
    parts = strategy.getElements().front().getElements().front();
  if (parts.getInt().value_or(0) == parallel.dataParallel)
    return;
  Node place = parts      ? parts
               : strategy ? strategy
                          : parallel.parallelNode["full_batch"];
  diagnostics.error(
      place.getLocation(),
      "full_batch False needs a list as 'dataset_strategy' whose rows are cut "
      "into data_parallel " +
          llvm::Twine(parallel.dataParallel) + " parts, such as [[" +
          llvm::Twine(parallel.dataParallel) + ", 1]], but got " +
          (parts      ? parts.repr(60)
           : strategy ? strategy.repr(60)
                      : std::string("none")));
}

/// MindDataset cuts a list into blocks; what is addressed by index is dealt
/// out.
static SampleOrder getShardOrder(const TrainingConfig &config) {
  Node loader = config.root["train_dataset"]["data_loader"];
  return loader["type"].getText() == "MindDataset" ? SampleOrder::Blocks
                                                   : SampleOrder::RoundRobin;
}

RankLayout resolveRanks(const TrainingConfig &config,
                        DiagnosticList &diagnostics) {
  const ParallelConfig &parallel = config.parallel;
  RankLayout ranks;
  ranks.pipelineStages = parallel.pipelineStage;
  if (!parallel.isSemiOrAuto()) {
    // Every rank is a replica; parallel_config says how many are meant.
    if (parallel.parallelMode != ParallelMode::StandAlone)
      ranks.dataParallel = parallel.getDeviceCount() / parallel.pipelineStage;
    if (ranks.dataParallel > 1)
      ranks.sampleOrder = getShardOrder(config);
    return ranks;
  }
  if (!parallel.fullBatch) {
    checkDatasetStrategy(parallel, diagnostics);
    if (parallel.dataParallel > 1)
      ranks.sampleOrder = getShardOrder(config);
  }
  ranks.dataParallel = parallel.dataParallel;
  ranks.contextParallel = parallel.contextParallel;
  ranks.modelParallel = parallel.modelParallel;
  ranks.sequenceParallel =
      parallel.useSeqParallel && parallel.modelParallel > 1;
  ranks.headParallel = resolveHeadParallel(parallel, diagnostics);
  return ranks;
}

} // namespace mf
