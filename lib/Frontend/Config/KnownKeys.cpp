//===- KnownKeys.cpp - The keys of each section and their use -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The key names come from MindSpore Transformers' configuration template and
// from its YAML files.
//
//===----------------------------------------------------------------------===//

#include "mf/Frontend/Config/KnownKeys.h"
#include "mf/Frontend/Config/MemorySettings.h"
#include "mf/Frontend/Config/PipelineSchedulers.h"
#include "mf/Layers/LayerSettings.h"
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
    parallelMode,
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
    datasetStrategy,
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
    optimizerLevel,
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
    {runLength,
     "initial_epoch has_trained_epoches has_trained_steps per_epoch_size"},
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
    scaleSense,
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
    scaleType,
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
    callbackType,
    balanceSwitch,
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
    callbackType,
    key<&Drops::expertNum>("expert_num", "routed experts of a layer"),
    key<&Drops::capacityFactor>("capacity_factor",
                                "room of an expert, in shares of all tokens"),
    key<&Drops::numLayers>("num_layers", "layers that are looked at"),
    mtpDepth,
};
constexpr KnownSection dropRateCallbackSection = {"MoEDropRateCallback", false,
                                                  dropRateCallbackKeys};

//===----------------------------------------------------------------------===//
// The optimizer and learning rates
//===----------------------------------------------------------------------===//

using Adam = OptimizerConfig;
using Average = WeightAverageConfig;
using Factored = CameConfig;
using Orthogonal = MuonConfig;
using Rate = LrScheduleConfig;

static constexpr KnownKey optimizerKeys[] = {
    key<&Adam::type>("type", "the class of the optimizer"),
    betas,
    key<&Adam::beta1>("beta1", "decay of the first moment"),
    key<&Adam::beta2>("beta2", "decay of the second moment"),
    eps,
    key<&Adam::weightDecay>("weight_decay",
                            "decay of parameters of rank two and more",
                            notNegative),
    key<&Adam::learningRate>("learning_rate",
                             "no effect: the rate is that of lr_schedule"),
    key<&Adam::swap>("swap", "the state lives on the host",
                     notLowered("the optimizer's state stays on the device")),
    key<&Average::interleaveStep>("interleave_step",
                                  "steps between averages (PmaAdamW)"),
    key<&Average::fusedNum>("fused_num",
                            "averages until parameters take it (PmaAdamW)"),
    key<&Average::emaAlpha>(
        "ema_alpha", "share of the parameter in an average (PmaAdamW)", share),
    fusedAlgo,
    key<&Orthogonal::momentum>("momentum", "decay of the momentum (Muon)",
                               ratio),
    key<&Orthogonal::nesterov>("nesterov",
                               "the direction looks one momentum ahead (Muon)"),
    key<&Orthogonal::matchedAdamWRms>(
        "matched_adamw_rms",
        "the root of the mean square of an update's elements (Muon)", positive),
    nsSteps,
    nsCoefficients,
    adamwBetas,
    adamwEps,
    adamwInclude,
    commStrategy,
    key<&Factored::clipThreshold>(
        "clip_threshold", "the largest root mean square of an update (Came)",
        positive),
    key<&Factored::decayRate>(
        "decay_rate", "squares are averaged with 1 - step^-decay_rate (Came)",
        ratio),
    key<&Factored::beta3>(
        "beta3", "decay of the squares of what updates differ by (Came)",
        ratio),
    scaleParameter,
    relativeStep,
    warmupInit,
    compression,
    qkClipEnabled,
    qkClipThreshold,
    qkClipBatches,
    notModelled("amsgrad", "False"),
    notModelled("maximize", "False"),
};
static constexpr IrrelevantKeys optimizerRest[] = {
    {sameNumbers, "use_fused"},
};
constexpr KnownSection optimizerSection = {"optimizer", false, optimizerKeys,
                                           optimizerRest};

// After the first key, an item of grouped_lr_schedule has the keys of a
// schedule.
static constexpr KnownKey lrGroupKeys[] = {
    rateParameters,
    key<&Rate::type>("type", "the class of the schedule"),
    key<&Rate::learningRate>("learning_rate", "the highest rate", notNegative),
    key<&Rate::lrEnd>("lr_end", "the last rate", notNegative, orNull),
    key<&Rate::warmupLrInit>("warmup_lr_init", "the first rate of warm-up",
                             notNegative, orNull),
    key<&Rate::warmupSteps>("warmup_steps", "steps of warm-up", from(0),
                            orNull),
    key<&Rate::warmupRatio>("warmup_ratio",
                            "steps of warm-up as a share of the run", ratio,
                            orNull),
    key<&Rate::totalSteps>("total_steps",
                           "steps of the schedule; -1 is the length of the run",
                           orNull, orMinusOne),
    key<&Rate::numCycles>("num_cycles", "waves of a cosine", notNegative,
                          orNull),
    key<&Rate::power>("power", "power of a polynomial", notNegative, orNull),
    key<&Rate::decaySteps>("decay_steps", "steps of decay", from(0), orNull),
    key<&Rate::decayRatio>(
        "decay_ratio", "steps of decay as a share of the run", ratio, orNull),
    key<&Rate::decayStartSteps>("decay_start_steps",
                                "the step where decay starts", from(0), orNull),
    key<&Rate::decayStartRatio>(
        "decay_start_ratio", "that step as a share of the run", ratio, orNull),
    baseRate,
    key<&Rate::tMax>("t_max", "half a period of CosineAnnealingLR", orNull),
    key<&Rate::t0>("t_0", "the first period of CosineAnnealingWarmRestarts",
                   orNull),
    key<&Rate::tMult>(
        "t_mult", "by what each period is longer than the one before", orNull),
    key<&Rate::etaMin>("eta_min", "the lowest rate of annealing", notNegative,
                       orNull),
    notModelled("warmup_epochs", "0|None"),
    notModelled("max_lr"),
    notModelled("min_lr"),
    notModelled("num_iters"),
};
static constexpr IrrelevantKeys lrScheduleRest[] = {
    {unread, "auto_register scale_factor"},
};
constexpr KnownSection lrGroupSection = {"grouped_lr_schedule.grouped", false,
                                         lrGroupKeys, lrScheduleRest};
constexpr KnownSection lrScheduleSection = {
    "lr_schedule", false,
    llvm::ArrayRef<KnownKey>(lrGroupKeys + 1, std::size(lrGroupKeys) - 1),
    lrScheduleRest};

static constexpr KnownKey groupedLrKeys[] = {
    standardRates,
    groupedRates,
};
constexpr KnownSection groupedLrSection = {"grouped_lr_schedule", false,
                                           groupedLrKeys};

//===----------------------------------------------------------------------===//
// The device, experts, the model and the top level
//===----------------------------------------------------------------------===//

static constexpr KnownKey contextKeys[] = {
    deviceMemory,
    memoryOptimizeLevel,
    notModelled("mode", "0|'GRAPH_MODE'"),
    section("ascend_config"),
    graphKernel,
    section("jit_config"),
    used("jit_level", "O1 fuses vector operators; older files have it here"),
    notModelled("memory_offload", "'OFF'"),
    notModelled("mem_offload_config", "None|{}"),
};
static constexpr IrrelevantKeys contextRest[] = {
    {launch, "device_target device_id"},
    {compilation,
     "max_call_depth enable_compile_cache compile_cache_path "
     "graph_kernel_flags jit_syntax_level infer_boost deterministic "
     "pynative_synchronize check_bprop reserve_class_name_in_scope "
     "disable_format_transform grad_for_scalar"},
    {report,
     "save_graphs save_graphs_path save_dump_path print_file_path debug_level"},
    {host, "env_config_path mempool_block_size runtime_num_threads "
           "affinity_cpu_list inter_op_parallel_num parameter_cache"},
};
constexpr KnownSection contextSection = {"context", false, contextKeys,
                                         contextRest};

static constexpr KnownKey ascendConfigKeys[] = {
    speedUpPath,
    notModelled("precision_mode", "'must_keep_origin_dtype'"),
    notModelled("matmul_allow_hf32", "False"),
    notModelled("op_precision_mode", "''|None"),
};
static constexpr IrrelevantKeys ascendConfigRest[] = {
    {overlap, "topo_order"},
    {compilation, "jit_compile ge_options"},
    {sameNumbers, "atomic_clean_policy conv_allow_hf32"},
    {host, "exception_dump hccl_watchdog"},
};
constexpr KnownSection ascendConfigSection = {
    "context.ascend_config", false, ascendConfigKeys, ascendConfigRest};

static constexpr KnownKey jitConfigKeys[] = {
    jitLevel,
};
static constexpr IrrelevantKeys jitConfigRest[] = {
    {compilation, "infer_boost jit_syntax_level exec_mode"},
};
constexpr KnownSection jitConfigSection = {"context.jit_config", false,
                                           jitConfigKeys, jitConfigRest};

static constexpr KnownKey moeKeys[] = {
#define EXPERT_KEY(NAME, ...) expert::NAME,
#include "mf/Frontend/Config/ExpertKeys.def"
};
static constexpr IrrelevantKeys moeRest[] = {
    {collectives, "group_wise_a2a use_allgather_dispatcher"},
    {overlap, "moe_shared_expert_overlap"},
    {oldExperts, "save_token_distribution cur_layer enable_cold_hot_expert "
                 "update_step hot_expert_num cold_token_percent "
                 "moe_module_name dispatch_global_max_bs"},
};
constexpr KnownSection moeSection = {"moe_config", true, moeKeys, moeRest};

static constexpr KnownKey modelKeys[] = {
    modelConfig,
    arch,
};
constexpr KnownSection modelSection = {"model", false, modelKeys};

static constexpr KnownKey topLevelKeys[] = {
    section("recompute_config"),
    section("swap_config"),
    section("parallel_config"),
    section("parallel"),
    section("moe_config"),
    section("runner_config"),
    section("runner_wrapper"),
    section("optimizer"),
    section("lr_schedule"),
    section("grouped_lr_schedule"),
    section("context"),
    section("model"),
    callbackList,
    otherCallbackList,
    useParallel,
    useLegacy,
    microBatchInterleaveNum,
    trainDataset,
    notModelled("layer_scale", "False"),
    notModelled("lr_scale", "False"),
    notModelled("no_decay_params", "None|[]"),
};
static constexpr IrrelevantKeys topLevelRest[] = {
    {seeds, "seed"},
    {samples, "train_dataset_task processor data_simplification input_data"},
    {evaluation, "eval_dataset eval_dataset_task metric eval_callbacks do_eval "
                 "eval_step_interval eval_epoch_interval predict_batch_size "
                 "infer generate"},
    {launch, "trainer run_mode run_status use_graceful_exit push_to_hub "
             "hub_model_id hub_token hub_private_repo adapter_id description"},
    {report,
     "monitor_config output_dir profile profile_start_step profile_stop_step "
     "profile_memory profile_communication profile_level profile_output "
     "profile_rank_ids profile_pipeline profiler_level profiling_config "
     "init_start_profile with_stack mstx memory_usage time_config "
     "print_separate_loss check_for_nan_in_loss_and_grad"},
    {checkpoints,
     "load_checkpoint load_ckpt_format load_ckpt_async "
     "src_strategy_path_or_dir auto_trans_ckpt transform_process_num "
     "only_save_strategy resume_training resume_by_last_timestamp_ckpt "
     "use_checkpoint_health_monitor ignore_data_skip data_skip_steps "
     "remove_redundancy remote_save_url"},
    {weights, "pretrained_model_dir"},
    {search, "auto_tune filepath_prefix autotune_per_step"},
    {unread, "lr_scale_factor layer_decay"},
    {elsewhere, "pipeline_config"},
    {precision, "train_precision_sync infer_precision_sync"},
};
constexpr KnownSection topLevel = {"the top level", false, topLevelKeys,
                                   topLevelRest};

//===----------------------------------------------------------------------===//
// Sections
//===----------------------------------------------------------------------===//

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

/// Returns the value of a key whose member is a bool, an int or a name.
static std::optional<std::string> getText(const KnownKey &key,
                                          const TrainingConfig &config) {
  if (const auto *flag = key.getValue<bool>(config))
    return *flag ? "True" : "False";
  if (const auto *number = key.getValue<int64_t>(config))
    return std::to_string(*number);
  if (const auto *name = key.getValue<std::string>(config))
    return *name;
  return std::nullopt;
}

LayoutValues listLayoutValues(const TrainingConfig &config) {
  const TrainingConfig defaults;
  LayoutValues values;
  for (const KnownKey &key : parallelConfigSection.keys)
    if (auto text = getText(key, config);
        text && text != getText(key, defaults))
      values[key.name.str()] = *text;
  return values;
}

std::string getDefaultLayoutValue(llvm::StringRef key) {
  return *getText(*parallelConfigSection.find(key), TrainingConfig());
}

void setLayoutValue(llvm::StringRef key, llvm::StringRef value,
                    TrainingConfig &config) {
  const KeyField member = parallelConfigSection.find(key)->field(config);
  if (auto *const *flag = std::get_if<bool *>(&member))
    **flag = value == "True";
  else if (auto *const *number = std::get_if<int64_t *>(&member))
    value.getAsInteger(10, **number);
  else if (auto *const *name = std::get_if<std::string *>(&member))
    **name = value.str();
}

} // namespace mf
