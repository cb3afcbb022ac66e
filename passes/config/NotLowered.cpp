//===- NotLowered.cpp - Settings of a YAML that are not lowered -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/config/NotLowered.h"
#include "mf/Frontend/Config/KnownKeys.h"
#include "mf/Frontend/Config/PipelineRules.h"
#include "llvm/ADT/STLExtras.h"

using namespace mf;

namespace {

/// Emits one warning per key, at its value.
class Requests {
public:
  explicit Requests(DiagnosticList &diagnostics) : diagnostics(diagnostics) {}

  /// Warns if `isAsked` is true and the YAML itself has the key. `instead` is
  /// the program's behaviour. `sectionName` distinguishes keys of the same
  /// name.
  void add(bool isAsked, const Node &section, llvm::StringRef key,
           const llvm::Twine &instead, llvm::StringRef sectionName = "") {
    Node value = section[key];
    if (!isAsked || !value)
      return;
    // The message need not contain the value of a flag.
    bool isPlain = value.isMap() || value.getBool().value_or(false);
    diagnostics.warning(value.getLocation(),
                        sectionName + key +
                            (isPlain ? "" : " " + value.repr(60)) +
                            " is not lowered; " + instead);
  }

private:
  DiagnosticList &diagnostics;
};

} // namespace

/// Returns whether every rank is a replica and the launcher defines their
/// number.
static bool isDataParallelMode(const ParallelConfig &config) {
  return config.parallelMode == ParallelMode::DataParallel ||
         config.parallelMode == ParallelMode::Hybrid;
}

/// Checks the keys that distribute a step over ranks.
static void checkRanks(const ParallelConfig &config, const RankLayout &ranks,
                       bool hasExperts, Requests &requests,
                       DiagnosticList &diagnostics) {
  Node mode = config.parallelNode["parallel_mode"];
  if (isDataParallelMode(config) && ranks.dataParallel > 1)
    diagnostics.warning(mode.getLocation(),
                        "parallel_mode " + mode.repr(60) +
                            " is lowered as semi-auto parallel with "
                            "data_parallel " +
                            llvm::Twine(ranks.dataParallel) +
                            ": the loss is the mean over the tokens of all "
                            "replicas, not the mean of the replicas' means");
  else
    requests.add(isDataParallelMode(config), config.parallelNode,
                 "parallel_mode",
                 "parallel_config does not say how many replicas there are, "
                 "and the program trains one");
  bool isAlone = config.parallelMode == ParallelMode::StandAlone;
  if (int64_t devices = config.getDeviceCount();
      isAlone && devices > 1 && config.useParallelNode)
    diagnostics.warning(config.useParallelNode.getLocation(),
                        "use_parallel " + config.useParallelNode.repr(60) +
                            " trains on one device, not on the " +
                            llvm::Twine(devices) +
                            " of parallel_config; set it to True if the "
                            "launcher does");
  requests.add(config.expertParallel > 1 && !hasExperts, config.node,
               "expert_parallel", "a dense model has no experts to distribute");
}

/// Checks the keys for parts of the pipeline and for pieces of the sequence.
static void checkPipeline(const TrainingConfig &config, const RankLayout &ranks,
                          int64_t rowBlocks, bool hasExperts,
                          DiagnosticList &diagnostics) {
  const ParallelConfig &parallel = config.parallel;
  for (llvm::StringRef key : {"stage_num", "start_stage"}) {
    Node value = config.model.config[key];
    if (value.getInt().value_or(0) != 0)
      diagnostics.error(value.getLocation(),
                        "a part of a pipeline ('" + key +
                            "') is not lowered; expected the whole model");
  }
  if (parallel.seqSplitNum == 1)
    return;
  // Each of these keys cuts a layer's input in its own way.
  auto excludeWithPieces = [&](llvm::StringRef key, int64_t value) {
    if (value > 1)
      diagnostics.error(parallel.node["seq_split_num"].getLocation(),
                        "seq_split_num " + llvm::Twine(parallel.seqSplitNum) +
                            " with " + key + " " + llvm::Twine(value) +
                            " is not lowered; set either to 1");
  };
  excludeWithPieces("context_parallel", ranks.contextParallel);
  excludeWithPieces("micro_batch_interleave_num",
                    parallel.microBatchInterleaveNum);
  excludeWithPieces("fine_grain_interleave", rowBlocks);
  if ((hasExperts || config.moe.expertNum > 1) &&
      config.moe.node["use_gmm"].getBool().value_or(false))
    diagnostics.error(parallel.node["seq_split_num"].getLocation(),
                      "seq_split_num " + llvm::Twine(parallel.seqSplitNum) +
                          " with use_gmm is not lowered; set it to 1");
}

/// Checks keys that enable features that the program does not have.
static void checkStep(const TrainingConfig &config, Requests &requests) {
  const RunnerWrapper &wrapper = config.wrapper;
  Node threshold = wrapper.node["global_norm_spike_threshold"];
  requests.add(wrapper.useSkipDataByGlobalNorm, wrapper.node,
               "use_skip_data_by_global_norm",
               "no step is skipped for a norm above " +
                   (threshold ? threshold.repr(60) : std::string("1.0")));
  for (const KnownSection *section : getKnownSections())
    for (const KnownKey &key : section->keys)
      if (!key.instead.empty())
        requests.add(*key.getValue<bool>(config), section->getNode(config.root),
                     key.name, key.instead,
                     // Other sections have a key of this name too.
                     section == &optimizerSection ? "optimizer." : "");
}

/// There is always a schedule, because MindSpore Transformers has a default for
/// the whole section.
static void checkLearningRate(const TrainingConfig &config,
                              DiagnosticList &diagnostics) {
  Node rate = config.optimizer.node["learning_rate"];
  if (!rate || config.optimizer.learningRate == config.lrSchedule.learningRate)
    return;
  const bool hasSchedule = !config.lrSchedule.node.getEntries().empty();
  diagnostics.warning(
      rate.getLocation(),
      "optimizer.learning_rate " + rate.repr(60) + " has no effect: " +
          (hasSchedule ? "where lr_schedule is given, its learning_rate is "
                         "the rate; change that"
                       : "without lr_schedule the rate is that of its "
                         "defaults, 5e-05; add lr_schedule with the "
                         "learning_rate that is meant"));
}

void passes::checkNotLowered(const TrainingConfig &config,
                             const RankLayout &ranks, int64_t rowBlocks,
                             bool hasExperts, DiagnosticList &diagnostics) {
  Requests requests(diagnostics);
  checkRanks(config.parallel, ranks, hasExperts, requests, diagnostics);
  checkPipeline(config, ranks, rowBlocks, hasExperts, diagnostics);
  checkStep(config, requests);
  checkLearningRate(config, diagnostics);
}
