//===- RankLayout.cpp - The ranks of a training step ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/RankLayout.h"
#include "DynamicKeys.h"
#include "mf/Frontend/Config/ModelKeys.h"

namespace mf {

/// Returns the number of context_parallel ranks that exchange rows for heads.
static int64_t resolveHeadParallel(const ParallelConfig &parallel,
                                   DiagnosticList &diagnostics) {
  if (parallel.contextParallelAlgo == "ulysses_cp")
    return parallel.contextParallel;
  if (parallel.contextParallelAlgo != "hybrid_cp")
    return 1;
  if (parallel.contextParallel % parallel.ulyssesDegreeInCp == 0)
    return parallel.ulyssesDegreeInCp;
  diagnostics.error(
      known::find(parallel, &ParallelConfig::ulyssesDegreeInCp).getLocation(),
      "expected a divisor of " +
          known::nameWith(&ParallelConfig::contextParallel,
                          parallel.contextParallel) +
          " for " + quote(known::nameOf(&ParallelConfig::ulyssesDegreeInCp)) +
          ", but got " + llvm::Twine(parallel.ulyssesDegreeInCp));
  return 1;
}

/// Without full_batch each replica has its own dataset. dataset_strategy must
/// agree.
static void checkDatasetStrategy(const ParallelConfig &parallel,
                                 DiagnosticList &diagnostics) {
  Node strategy = parallel.parallelNode[known::datasetStrategy.name];
  Node parts;
  if (strategy.isList() && !strategy.getElements().empty() &&
      strategy.getElements().front().isList() &&
      !strategy.getElements().front().getElements().empty())
    parts = strategy.getElements().front().getElements().front();
  if (parts.getInt().value_or(0) == parallel.dataParallel)
    return;
  Node place =
      parts ? parts
      : strategy
          ? strategy
          : parallel.parallelNode[known::nameOf(&ParallelConfig::fullBatch)];
  diagnostics.error(
      place.getLocation(),
      known::nameOf(&ParallelConfig::fullBatch) + " False needs a list as " +
          quote(known::datasetStrategy.name) + " whose rows are cut into " +
          known::nameWith(&ParallelConfig::dataParallel,
                          parallel.dataParallel) +
          " parts, such as [[" + llvm::Twine(parallel.dataParallel) +
          ", 1]], but got " +
          (parts      ? parts.repr(60)
           : strategy ? strategy.repr(60)
                      : std::string("none")));
}

/// MindDataset splits a list into blocks, whereas data that are addressed by
/// index are distributed in turn.
static SampleOrder getShardOrder(const TrainingConfig &config) {
  Node loader = config.root[known::trainDataset.name][known::dataLoader];
  return loader["type"].getText() == "MindDataset" ? SampleOrder::Blocks
                                                   : SampleOrder::RoundRobin;
}

RankLayout resolveRanks(const TrainingConfig &config,
                        DiagnosticList &diagnostics) {
  const ParallelConfig &parallel = config.parallel;
  RankLayout ranks;
  ranks.pipelineStages = parallel.pipelineStage;
  if (!parallel.isSemiOrAuto()) {
    // Every rank is a replica, and parallel_config sets their number.
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
  ranks.expertParallel = parallel.expertParallel;
  return ranks;
}

llvm::StringRef getRankKey(llvm::StringRef axis, bool isOfDynamicGraph) {
  using namespace dynamic;
  auto choose = [&](const DynamicKey &key, llvm::StringRef name) {
    return isOfDynamicGraph ? llvm::StringRef(key.name) : name;
  };
  axis = axis.split('_').first;
  if (axis == "mp")
    return choose(parallelism::tensorParallel,
                  known::nameOf(&ParallelConfig::modelParallel));
  if (axis == "dp")
    return choose(parallelism::dataParallelShard,
                  known::nameOf(&ParallelConfig::dataParallel));
  return choose(parallelism::contextParallel,
                known::nameOf(&ParallelConfig::contextParallel));
}

int64_t getExpertModelParallel(const TrainingConfig &config,
                               const RankLayout &ranks, bool isLegacy) {
  if (!isLegacy || config.moe.useGmm)
    return 1;
  return config.moe.expertModelParallel.value_or(ranks.modelParallel);
}

void checkExpertParallel(const TrainingConfig &config, const RankLayout &ranks,
                         int64_t numExperts, bool isLegacy,
                         DiagnosticList &diagnostics) {
  if (numExperts <= 1)
    return;
  const ParallelConfig &parallel = config.parallel;
  const bool hasSequenceParallel =
      ranks.modelParallel == 1 || ranks.sequenceParallel;
  // Experts with a capacity then see tokens that all ranks of mp have alike.
  const bool hasCapacity = isLegacy && !config.moe.useGmm;
  if (Node key = known::find(parallel, &ParallelConfig::useSeqParallel);
      !hasSequenceParallel && !hasCapacity)
    diagnostics.error(
        (key ? key : known::find(parallel, &ParallelConfig::modelParallel))
            .getLocation(),
        "a model with experts needs " +
            known::nameOf(&ParallelConfig::useSeqParallel) + " True with " +
            known::nameWith(&ParallelConfig::modelParallel,
                            ranks.modelParallel));
  const int64_t cut = getExpertModelParallel(config, ranks, isLegacy);
  if (cut != 1 && cut != ranks.modelParallel) {
    const llvm::StringRef cutKey =
        known::nameOf(&MoeConfig::expertModelParallel);
    diagnostics.error(config.moe.node[cutKey].getLocation(),
                      "expected 1 or " +
                          known::nameWith(&ParallelConfig::modelParallel,
                                          ranks.modelParallel) +
                          " for " + quote(cutKey) + ", but got " +
                          llvm::Twine(cut));
    return;
  }
  if (ranks.expertParallel == 1)
    return;
  auto fail = [&](const llvm::Twine &divided) {
    const llvm::StringRef key = known::nameOf(&ParallelConfig::expertParallel);
    diagnostics.error(parallel.node[key].getLocation(),
                      "expected a divisor of " + divided + " for " +
                          quote(key) + ", but got " +
                          llvm::Twine(ranks.expertParallel));
  };
  if (numExperts % ranks.expertParallel != 0)
    return fail("the model's " + llvm::Twine(numExperts) + " experts");
  const int64_t sharing = ranks.dataParallel * ranks.contextParallel *
                          (hasSequenceParallel ? ranks.modelParallel / cut : 1);
  if (sharing % ranks.expertParallel == 0)
    return;
  std::string sizes =
      known::nameWith(&ParallelConfig::dataParallel, ranks.dataParallel);
  if (ranks.contextParallel > 1)
    sizes += " times " + known::nameWith(&ParallelConfig::contextParallel,
                                         ranks.contextParallel);
  if (hasSequenceParallel && ranks.modelParallel > cut)
    sizes += " times " + known::nameWith(&ParallelConfig::modelParallel,
                                         ranks.modelParallel);
  fail(sizes);
}

/// More blocks than any sequence is cut into: a limit for hostile input.
static constexpr int64_t mostBlocks = 1 << 16;

int64_t resolveRowBlocks(const TrainingConfig &config, const RankLayout &ranks,
                         DiagnosticList &diagnostics) {
  const llvm::StringRef key = keys::rowBlocks.getName();
  Node value = config.model.config[key];
  if (value.isUndefinedOrNull())
    return 1;
  std::optional<int64_t> blocks = value.getInt();
  if (!blocks || *blocks > mostBlocks) {
    rejectValue(
        value, "an int up to " + llvm::Twine(mostBlocks) + " for " + quote(key),
        diagnostics);
    return 1;
  }
  if (*blocks <= 1 || ranks.modelParallel == 1)
    return 1;
  if (ranks.sequenceParallel || ranks.contextParallel > 1)
    return *blocks;
  diagnostics.error(
      value.getLocation(),
      key + " " + llvm::Twine(*blocks) + " with " +
          known::nameWith(&ParallelConfig::modelParallel, ranks.modelParallel) +
          " needs " + known::nameOf(&ParallelConfig::useSeqParallel) +
          ": True or " + known::nameOf(&ParallelConfig::contextParallel) +
          " above 1; expected one of them, or " + key + ": 1");
  return 1;
}

} // namespace mf
