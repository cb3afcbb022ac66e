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

RankLayout resolveRanks(const TrainingConfig &config,
                        DiagnosticList &diagnostics) {
  const ParallelConfig &parallel = config.parallel;
  RankLayout ranks;
  ranks.pipelineStages = parallel.pipelineStage;
  if (!parallel.isSemiOrAuto()) {
    // Every rank is a replica; parallel_config says how many are meant.
    if (parallel.parallelMode != ParallelMode::StandAlone)
      ranks.dataParallel = parallel.getDeviceCount() / parallel.pipelineStage;
    return ranks;
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
