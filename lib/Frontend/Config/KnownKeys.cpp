//===- KnownKeys.cpp - The keys of each section and their use -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The key names come from MindSpore Transformers' configuration template and
// from its YAML files.
//
//===----------------------------------------------------------------------===//

#include "mf/Frontend/Config/KnownKeys.h"
#include "mf/Frontend/Config/PipelineRules.h"
#include "mf/Frontend/Config/SettingEdit.h"
#include "mf/Frontend/Layers/LayerSettings.h"
#include "llvm/ADT/StringExtras.h"

namespace mf {

using namespace known;

using Recompute = RecomputeConfig;
using Swap = SwapConfig;
using Parallel = ParallelConfig;
using Settings = MemorySettings;
using Runner = RunnerConfig;
using Wrapper = RunnerWrapper;
using Scale = LossScaleConfig;
using ScaleUpdate = LossScaleUpdateConfig;
using Balance = BalanceCallback;
using Drops = DropRateCallback;

static llvm::ArrayRef<llvm::StringRef> getContextAlgorithms() {
  static constexpr llvm::StringRef names[] = {"colossalai_cp", "ulysses_cp",
                                              "hybrid_cp"};
  return names;
}

static constexpr KnownKey recomputeKeys[] = {
    key<&Recompute::recompute>(getName(LayerKey::Recompute),
                               "layers that run again as a whole in backward",
                               withoutPatterns),
    key<&Recompute::selectRecompute>(getName(LayerKey::SelectRecompute),
                                     "operators that run again in backward"),
    key<&Recompute::selectCommRecompute>(
        getName(LayerKey::SelectCommRecompute),
        "operators whose collectives run again in backward"),
    key<&Recompute::selectRecomputeExclude>(
        getName(LayerKey::SelectRecomputeExclude),
        "operators that do not run again, whatever else says so"),
    key<&Recompute::selectCommRecomputeExclude>(
        getName(LayerKey::SelectCommRecomputeExclude),
        "operators whose collectives do not run again"),
    key<&Recompute::parallelOptimizerCommRecompute>(
        "parallel_optimizer_comm_recompute",
        "recomputed layers gather their weights again", withPlace),
    key<&Recompute::mpCommRecompute>(
        "mp_comm_recompute",
        "recomputed layers repeat their collectives of model parallelism"),
    key<&Recompute::recomputeSliceActivation>(
        "recompute_slice_activation",
        "inputs of recomputed layers are kept in slices of model parallelism",
        withPlace),
};
constexpr KnownSection recomputeSection = {"recompute_config", true,
                                           recomputeKeys};

static constexpr KnownKey swapKeys[] = {
    key<&Swap::swap>(
        "swap", "activations go to host memory between forward and backward"),
    key<&Swap::defaultPrefetch>(
        "default_prefetch",
        "kernels between copy and reader for the default policy"),
    used(getName(LayerKey::LayerSwap), "layers that are swapped as a whole"),
    used(getName(LayerKey::OpSwap),
         "operators that are swapped, in some layers"),
};
constexpr KnownSection swapSection = {"swap_config", true, swapKeys};

static constexpr KnownKey parallelConfigKeys[] = {
    key<&Parallel::dataParallel>(
        "data_parallel", "ranks among which the rows of a batch are divided",
        ofRanks, withPlace, plans(&Settings::dataParallel)),
    key<&Parallel::modelParallel>(
        "model_parallel", "ranks over which the weights of a layer are cut",
        ofRanks, withPlace, plans(&Settings::modelParallel)),
    key<&Parallel::contextParallel>(
        "context_parallel", "ranks over which a sequence is cut", ofRanks,
        withPlace, plans(&Settings::contextParallel)),
    key<&Parallel::expertParallel>("expert_parallel",
                                   "ranks over which experts are distributed",
                                   ofRanks, plans(&Settings::expertParallel)),
    key<&Parallel::pipelineStage>("pipeline_stage", "stages of the pipeline",
                                  ofTasks, plans(&Settings::stages)),
    key<&Parallel::microBatchNum>("micro_batch_num",
                                  "micro-batches of a step with several stages",
                                  ofTasks, plans(&Settings::microBatches)),
    key<&Parallel::seqSplitNum>("seq_split_num",
                                "pieces in which a micro-batch runs", ofTasks,
                                withPlace),
    key<&Parallel::gradientAggregationGroup>(
        "gradient_aggregation_group", "groups in which gradients are reduced"),
    key<&Parallel::useSeqParallel>(
        "use_seq_parallel",
        "model-parallel ranks cut the sequence between linears", withPlace,
        plans(&Settings::sequenceParallel)),
    key<&Parallel::vocabEmbDp>(
        "vocab_emb_dp",
        "table and head are whole on all ranks; several stages turn it off"),
    key<&Parallel::contextParallelAlgo>(
        "context_parallel_algo",
        "what attention exchanges over context-parallel ranks",
        oneOf(getContextAlgorithms)),
    key<&Parallel::ulyssesDegreeInCp>("ulysses_degree_in_cp",
                                      "ranks of hybrid_cp that exchange heads",
                                      withPlace),
};
static constexpr IrrelevantKeys parallelConfigRest[] = {
    {elsewhere, "optimizer_shard"},
    {search, "mem_coeff"},
};
constexpr KnownSection parallelConfigSection = {
    "parallel_config", true, parallelConfigKeys, parallelConfigRest};

static constexpr KnownKey parallelKeys[] = {
    used("parallel_mode",
         "0 data, 1 semi-auto, 2 auto, 3 hybrid parallel, or their names"),
    key<&Parallel::fullBatch>("full_batch", "every rank reads the whole batch",
                              withPlace),
    key<&Parallel::gradientsMean>("gradients_mean",
                                  "reduced gradients are divided by the ranks",
                                  withPlace),
    key<&Parallel::enableParallelOptimizer>(
        "enable_parallel_optimizer",
        "the optimizer's state is sharded over replicas", withPlace,
        plans(&Settings::optimizerSharding)),
    section("parallel_optimizer_config"),
    section("pipeline_config"),
    used("dataset_strategy", "how a batch is cut where ranks read parts of it"),
    key<&Parallel::deviceNum>("device_num",
                              "devices that the launcher starts; 0 if not said",
                              orNull),
    notModelled("loss_repeated_mean", "True"),
    notModelled("gradient_fp32_sync", "True"),
    notModelled("comm_fusion", "None|{}"),
    notModelled("auto_pipeline", "False"),
    notModelled("pipeline_stages", "1"),
    notModelled("grad_accumulation_step", "1"),
};
static constexpr IrrelevantKeys parallelRest[] = {
    {search, "search_mode auto_parallel_search_mode"},
    {collectives, "enable_alltoall parameter_broadcast communi_parallel_mode "
                  "all_reduce_fusion_config"},
    {checkpoints, "strategy_ckpt_save_file strategy_ckpt_load_file "
                  "strategy_ckpt_config group_ckpt_save_file"},
    {launch, "global_rank"},
};
constexpr KnownSection parallelSection = {"parallel", false, parallelKeys,
                                          parallelRest};

static constexpr KnownKey parallelOptimizerKeys[] = {
    key<&Parallel::gradientAccumulationShard>(
        "gradient_accumulation_shard",
        "accumulated gradients are sharded as well"),
    used("optimizer_level",
         "level1 shards state, level2 also gradients, level3 also weights"),
    key<&OptimizerShardConfig::threshold>(
        "parallel_optimizer_threshold",
        "size in KB from which on a parameter is sharded", from(0)),
    key<&OptimizerShardConfig::weightShardSize>(
        "optimizer_weight_shard_size",
        "ranks that share one parameter; -1 is all", orMinusOne, withPlace),
};
constexpr KnownSection parallelOptimizerSection = {
    "parallel.parallel_optimizer_config", false, parallelOptimizerKeys};

static constexpr KnownKey pipelineKeys[] = {
    key<&Parallel::pipelineInterleave>(
        "pipeline_interleave",
        "stages have several chunks, as pp_interleave_num says"),
    key<&Parallel::pipelineScheduler>("pipeline_scheduler",
                                      "the order of micro-batches",
                                      oneOf(getPipelineSchedulers), withPlace),
};
constexpr KnownSection pipelineSection = {"parallel.pipeline_config", false,
                                          pipelineKeys};

static constexpr KnownKey runnerKeys[] = {
    key<&Runner::batchSize>("batch_size",
                            "sequences per micro-batch and replica",
                            plans(&Settings::batchSize)),
    key<&Runner::gradientAccumulationSteps>(
        "gradient_accumulation_steps", "micro-batches of a step with one stage",
        ofTasks, orNull, plans(&Settings::gradientAccumulation)),
};
static constexpr IrrelevantKeys runnerRest[] = {
    {runLength, "epochs sink_mode sink_size stop_step"},
    // Files of old releases have these; dev refuses them.
    {runLength, "initial_epoch has_trained_epoches has_trained_steps "
                "per_epoch_size"},
    {unread, "num_classes"},
};
constexpr KnownSection runnerSection = {"runner_config", true, runnerKeys,
                                        runnerRest};

static constexpr KnownKey wrapperKeys[] = {
    key<&Wrapper::type>("type", "the class of the step"),
    key<&Wrapper::useClipGrad>("use_clip_grad",
                               "gradients are clipped by their global norm"),
    key<&ClippingConfig::maxNorm>(
        "max_grad_norm", "the norm to which they are clipped", positive),
    used("scale_sense", "factor on the loss, or a map with a type"),
    key<&Wrapper::calculatePerTokenLoss>(
        "calculate_per_token_loss", "the loss is the mean over all tokens",
        notLowered("the loss is the mean of each micro-batch's")),
    key<&Wrapper::localNorm>("local_norm",
                             "norms of single gradients are printed",
                             notLowered("only the global norm is printed")),
    key<&Wrapper::useSkipDataByGlobalNorm>(
        "use_skip_data_by_global_norm", "steps with a high norm are skipped"),
    key<&Wrapper::globalNormSpikeThreshold>("global_norm_spike_threshold",
                                            "the norm above which they are"),
    notModelled("sens", "1"),
};
static constexpr IrrelevantKeys wrapperRest[] = {
    {done, "enable_check_overflow enable_global_norm"},
    {report, "print_separate_loss"},
    {elsewhere, "micro_batch_num"},
};
constexpr KnownSection wrapperSection = {"runner_wrapper", false, wrapperKeys,
                                         wrapperRest};

static constexpr KnownKey lossScaleKeys[] = {
    used("type", "the class that updates the factor"),
    key<&Scale::value>("loss_scale_value", "the first factor"),
    key<&ScaleUpdate::factor>("scale_factor", "by what an overflow divides it"),
    key<&ScaleUpdate::window>("scale_window",
                              "steps without overflow until it grows"),
    notModelled("max_scale_window"),
    notModelled("min_scale_window"),
};
constexpr KnownSection lossScaleSection = {"runner_wrapper.scale_sense", false,
                                           lossScaleKeys};

static constexpr KnownKey balanceCallbackKeys[] = {
    used("type", "the class of the callback"),
    used("balance_via_topk_bias", "whether it does anything"),
    key<&Balance::rate>("topk_bias_update_rate", "what a step adds to a bias"),
    key<&Balance::expertNum>("expert_num", "routed experts of a layer"),
    key<&Balance::microBatchNum>("micro_batch_num",
                                 "micro-batches whose load is summed"),
    key<&Balance::gradientAccumulationSteps>("gradient_accumulation_steps",
                                             "passes whose load is summed"),
};
static constexpr IrrelevantKeys balanceCallbackRest[] = {
    {"release 1.5 counts the layers of the model by them",
     "num_layers mtp_depth"},
};
constexpr KnownSection balanceCallbackSection = {
    "TopkBiasBalanceCallback", false, balanceCallbackKeys, balanceCallbackRest};

static constexpr KnownKey dropRateCallbackKeys[] = {
    used("type", "the class of the callback"),
    key<&Drops::expertNum>("expert_num", "routed experts of a layer"),
    key<&Drops::capacityFactor>("capacity_factor",
                                "room of an expert, in shares of all tokens"),
    key<&Drops::numLayers>("num_layers", "layers that are looked at"),
    used("mtp_depth", "layers of multi-token prediction besides", from(0)),
};
constexpr KnownSection dropRateCallbackSection = {"MoEDropRateCallback", false,
                                                  dropRateCallbackKeys};

llvm::ArrayRef<const KnownSection *> getKnownSections() {
  static constexpr const KnownSection *sections[] = {&recomputeSection,
                                                     &swapSection,
                                                     &parallelConfigSection,
                                                     &parallelSection,
                                                     &parallelOptimizerSection,
                                                     &pipelineSection,
                                                     &moeSection,
                                                     &runnerSection,
                                                     &wrapperSection,
                                                     &lossScaleSection,
                                                     &optimizerSection,
                                                     &lrScheduleSection,
                                                     &groupedLrSection,
                                                     &contextSection,
                                                     &ascendConfigSection,
                                                     &jitConfigSection,
                                                     &balanceCallbackSection,
                                                     &dropRateCallbackSection,
                                                     &modelSection,
                                                     &topLevel};
  return sections;
}

std::string KnownKey::describeNumbers(bool sayBoth) const {
  const bool isBounded = sayBoth || largest != KnownKey().largest;
  return (isBounded ? "an int from " + std::to_string(smallest) + " to " +
                          std::to_string(largest)
                    : "an int of at least " + std::to_string(smallest)) +
         (takesMinusOne ? ", or -1" : "");
}

std::optional<double> KnownKey::getDefaultNumber() const {
  double number = 0;
  if (neutral.getAsDouble(number))
    return std::nullopt;
  return number;
}

bool KnownKey::isNeutral(const Node &value) const {
  const std::string text = value.repr();
  return llvm::any_of(llvm::split(neutral, '|'), [&](llvm::StringRef spelling) {
    double number = 0;
    return !spelling.empty() &&
           (spelling == text ||
            (!spelling.getAsDouble(number) && value.getFloat() == number));
  });
}

const KnownKey *KnownSection::find(llvm::StringRef key) const {
  const auto *found = llvm::find_if(
      keys, [&](const KnownKey &known) { return known.name == key; });
  return found == keys.end() ? nullptr : found;
}

std::vector<llvm::StringRef> KnownSection::getNames() const {
  std::vector<llvm::StringRef> names;
  for (const KnownKey &key : keys)
    names.push_back(key.name);
  for (const IrrelevantKeys &group : irrelevant)
    llvm::append_range(names, group.getNames());
  return names;
}

Node KnownSection::getNode(const Node &root) const {
  return this == &topLevel ? root : root.getPath(name);
}

llvm::SmallVector<llvm::StringRef> IrrelevantKeys::getNames() const {
  llvm::SmallVector<llvm::StringRef> list;
  names.split(list, ' ');
  return list;
}

} // namespace mf
