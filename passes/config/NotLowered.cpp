//===- NotLowered.cpp - What a YAML asks for and the program has not ------===//

#include "passes/config/NotLowered.h"
#include "mf/Config/PipelineRules.h"
#include "llvm/ADT/STLExtras.h"

using namespace mf;

namespace {

/// One warning per key, at its value.
class Requests {
public:
  explicit Requests(DiagnosticList &diagnostics) : diagnostics(diagnostics) {}

  /// Warns if `isAsked` and the YAML says so itself: `instead` is what the
  /// program does. `sectionName` tells keys of one name apart.
  void add(bool isAsked, const Node &section, llvm::StringRef key,
           const llvm::Twine &instead, llvm::StringRef sectionName = "") {
    Node value = section[key];
    if (!isAsked || !value)
      return;
    // That a flag is set goes without saying.
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

/// Every rank is a replica, and the launcher says how many there are.
static bool isDataParallelMode(const ParallelConfig &config) {
  return config.parallelMode == ParallelMode::DataParallel ||
         config.parallelMode == ParallelMode::Hybrid;
}

/// Tensors and samples split over ranks. A split into one part asks for
/// nothing; what depends on a split only asks where there is one.
static void checkLayout(const ParallelConfig &config, Requests &requests) {
  const char *oneRank = "the program is that of one rank with whole tensors";
  bool splitsModel = config.modelParallel > 1;
  bool splitsSequence = config.contextParallel > 1;
  bool splitsData = config.dataParallel > 1;
  const char *oneReplica = "the program trains one replica on its own samples";
  requests.add(isDataParallelMode(config), config.parallelNode, "parallel_mode",
               oneReplica);
  requests.add(splitsData, config.node, "data_parallel", oneReplica);
  requests.add(splitsModel, config.node, "model_parallel", oneRank);
  requests.add(splitsSequence, config.node, "context_parallel", oneRank);
  requests.add(config.expertParallel > 1, config.node, "expert_parallel",
               oneRank);
  requests.add(config.useSeqParallel && splitsModel, config.node,
               "use_seq_parallel", "activations hold whole sequences");
  // True keeps the table whole on each rank, as it is; with pipeline stages
  // MindSpore Transformers takes it for False, whatever the YAML says.
  bool splitsTable = !config.vocabEmbDp && (splitsModel || splitsSequence);
  requests.add(splitsTable &&
                   !config.node["vocab_emb_dp"].getBool().value_or(true),
               config.node, "vocab_emb_dp", "the embedding table is whole");
  requests.add(splitsSequence && config.contextParallelAlgo != "colossalai_cp",
               config.node, "context_parallel_algo",
               "attention sees whole sequences");
  requests.add(splitsSequence && config.ulyssesDegreeInCp > 1, config.node,
               "ulysses_degree_in_cp", "attention sees whole sequences");
  requests.add(!config.fullBatch && splitsData, config.parallelNode,
               "full_batch",
               "samples are read in order, not dealt to replicas");
}

/// Gradients and optimizer states that ranks reduce or share.
static void checkReduction(const ParallelConfig &config, Requests &requests) {
  // The loss is a mean over the replicas already. gradients_mean divides the
  // reduced gradient of a parameter by the ranks that hold a copy of it, which
  // changes gradients, and by them the norm that they are clipped with; with
  // one copy of everything it divides by 1. Norms' weights have a copy on each
  // rank of a stage, so any split of it counts.
  bool reduces = isDataParallelMode(config) || config.dataParallel > 1 ||
                 config.modelParallel > 1 || config.contextParallel > 1;
  requests.add(config.gradientsMean && reduces, config.parallelNode,
               "gradients_mean", "gradients are those of one rank");
  bool shards = config.enableParallelOptimizer &&
                (config.dataParallel > 1 || config.contextParallel > 1);
  const Node &section = config.parallelNode["parallel_optimizer_config"];
  requests.add(shards, config.parallelNode, "enable_parallel_optimizer",
               "each rank holds the whole state of the optimizer");
  requests.add(shards && config.gradientAccumulationShard, section,
               "gradient_accumulation_shard",
               "each rank holds whole accumulated gradients");
  requests.add(shards && config.parallelOptimizerThreshold !=
                             ParallelConfig().parallelOptimizerThreshold,
               section, "parallel_optimizer_threshold",
               "no parameter is sharded, whatever its size");
  requests.add(shards && config.optimizerWeightShardSize != -1, section,
               "optimizer_weight_shard_size", "no parameter is sharded");
}

/// Which part of the pipeline runs, and in which pieces.
static void checkPipeline(const TrainingConfig &config,
                          const StageMapOptions &options, Requests &requests,
                          DiagnosticList &diagnostics) {
  const ParallelConfig &parallel = config.parallel;
  for (llvm::StringRef key : {"stage_num", "start_stage"}) {
    Node value = config.model.config[key];
    if (value.getInt().value_or(0) != 0)
      diagnostics.error(value.getLocation(),
                        "a part of a pipeline ('" + key +
                            "') is not lowered; expected the whole model");
  }
  requests.add(parallel.seqSplitNum > 1, parallel.node, "seq_split_num",
               "each micro-batch is one whole sequence");
  requests.add(parallel.pipelineStage > 1 && isSequencePipeline(parallel),
               parallel.parallelNode["pipeline_config"], "pipeline_scheduler",
               options.interleave > 1
                   ? "micro-batches run whole, in the order of interleaved 1f1b"
                   : "micro-batches run whole, in the order of 1f1b");
}

/// Options of the step around the model that have no counterpart in it.
static void checkStep(const TrainingConfig &config, Requests &requests) {
  const RunnerWrapper &wrapper = config.wrapper;
  requests.add(wrapper.calculatePerTokenLoss, wrapper.node,
               "calculate_per_token_loss",
               "the loss is the mean of each micro-batch's");
  requests.add(wrapper.localNorm, wrapper.node, "local_norm",
               "only the global norm is printed");
  Node threshold = wrapper.node["global_norm_spike_threshold"];
  requests.add(wrapper.useSkipDataByGlobalNorm, wrapper.node,
               "use_skip_data_by_global_norm",
               "no step is skipped for a norm above " +
                   (threshold ? threshold.repr(60) : std::string("1.0")));
  requests.add(config.optimizer.swap, config.optimizer.node, "swap",
               "the optimizer's state stays on the device", "optimizer.");
  Node rate = config.optimizer.node["learning_rate"];
  requests.add(config.optimizer.learningRate != config.lrSchedule.learningRate,
               config.optimizer.node, "learning_rate",
               "the rate is that of lr_schedule", "optimizer.");
}

void passes::checkNotLowered(const TrainingConfig &config,
                             const StageMapOptions &options,
                             DiagnosticList &diagnostics) {
  Requests requests(diagnostics);
  checkLayout(config.parallel, requests);
  checkReduction(config.parallel, requests);
  checkPipeline(config, options, requests, diagnostics);
  checkStep(config, requests);
  if (config.parallel.microBatchInterleaveNum > 1)
    diagnostics.warning(
        config.root["micro_batch_interleave_num"].getLocation(),
        "micro_batch_interleave_num " +
            llvm::Twine(config.parallel.microBatchInterleaveNum) +
            " is lowered as that many times the micro-batches; gradients are "
            "their mean, where MindSpore adds those of interleaved copies");
}
