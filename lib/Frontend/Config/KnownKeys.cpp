//===- KnownKeys.cpp - The keys of each section and their use -------------===//
//
// Key names are those of MindSpore Transformers' configuration template and
// those seen in its YAML files.
//
//===----------------------------------------------------------------------===//

#include "KnownKeys.h"
#include "mf/Frontend/Config/PipelineRules.h"
#include "mf/Frontend/Config/SettingEdit.h"

namespace mf {

using namespace known;

static llvm::ArrayRef<llvm::StringRef> getContextAlgorithms() {
  static constexpr llvm::StringRef names[] = {"colossalai_cp", "ulysses_cp",
                                              "hybrid_cp"};
  return names;
}

static constexpr auto recomputeKeys = keys({
    key<&RecomputeConfig::recompute>(
        "recompute", "layers that run again as a whole in backward",
        withoutPatterns, withPlace),
    key<&RecomputeConfig::selectRecompute>(
        "select_recompute", "operators that run again in backward", withPlace),
    key<&RecomputeConfig::selectCommRecompute>(
        "select_comm_recompute",
        "operators whose collectives run again in backward", withPlace),
    key<&RecomputeConfig::selectRecomputeExclude>(
        "select_recompute_exclude",
        "operators that do not run again, whatever else says so", withPlace),
    key<&RecomputeConfig::selectCommRecomputeExclude>(
        "select_comm_recompute_exclude",
        "operators whose collectives do not run again", withPlace),
    key<&RecomputeConfig::parallelOptimizerCommRecompute>(
        "parallel_optimizer_comm_recompute",
        "recomputed layers gather their weights again", withPlace),
    key<&RecomputeConfig::mpCommRecompute>(
        "mp_comm_recompute",
        "recomputed layers repeat their collectives of model parallelism"),
    key<&RecomputeConfig::recomputeSliceActivation>(
        "recompute_slice_activation",
        "inputs of recomputed layers are kept in slices of model parallelism",
        withPlace),
});
constexpr KnownSection recomputeSection = {"recompute_config", true,
                                           recomputeKeys};

static constexpr auto swapKeys = keys({
    key<&SwapConfig::swap>(
        "swap", "activations go to host memory between forward and backward",
        withPlace),
    key<&SwapConfig::defaultPrefetch>(
        "default_prefetch",
        "kernels between copy and reader for the default policy", withPlace),
    used("layer_swap", "layers that are swapped as a whole"),
    used("op_swap", "operators that are swapped, in some layers"),
});
constexpr KnownSection swapSection = {"swap_config", true, swapKeys};

static constexpr auto parallelConfigKeys = join(
    keys({
        key<&ParallelConfig::dataParallel>(
            "data_parallel", "ranks that share out the rows of a batch",
            withPlace, plans(&MemorySettings::dataParallel)),
        key<&ParallelConfig::modelParallel>(
            "model_parallel", "ranks that share out the weights of a layer",
            withPlace, plans(&MemorySettings::modelParallel)),
        key<&ParallelConfig::contextParallel>(
            "context_parallel", "ranks that share out a sequence", withPlace,
            plans(&MemorySettings::contextParallel)),
        key<&ParallelConfig::expertParallel>(
            "expert_parallel", "ranks that share out experts",
            plans(&MemorySettings::expertParallel)),
        key<&ParallelConfig::pipelineStage>("pipeline_stage",
                                            "stages of the pipeline",
                                            plans(&MemorySettings::stages)),
        key<&ParallelConfig::microBatchNum>(
            "micro_batch_num", "micro-batches of a step with several stages",
            plans(&MemorySettings::microBatches)),
        key<&ParallelConfig::seqSplitNum>(
            "seq_split_num", "pieces in which a micro-batch runs", withPlace),
        key<&ParallelConfig::gradientAggregationGroup>(
            "gradient_aggregation_group",
            "groups in which gradients are reduced"),
        key<&ParallelConfig::useSeqParallel>(
            "use_seq_parallel",
            "model-parallel ranks share out the sequence between linears",
            withPlace, plans(&MemorySettings::sequenceParallel)),
        key<&ParallelConfig::vocabEmbDp>("vocab_emb_dp",
                                         "table and head are whole on all "
                                         "ranks; several stages turn it off"),
        key<&ParallelConfig::contextParallelAlgo>(
            "context_parallel_algo",
            "what attention exchanges over context-parallel ranks",
            oneOf(getContextAlgorithms)),
        key<&ParallelConfig::ulyssesDegreeInCp>(
            "ulysses_degree_in_cp", "ranks of hybrid_cp that exchange heads",
            withPlace),
    }),
    irrelevant(elsewhere, {"optimizer_shard"}),
    irrelevant(search, {"mem_coeff"}));
constexpr KnownSection parallelConfigSection = {"parallel_config", true,
                                                parallelConfigKeys};

static constexpr auto parallelKeys = join(
    keys({
        used("parallel_mode",
             "0 data, 1 semi-auto, 2 auto, 3 hybrid parallel, or their names"),
        key<&ParallelConfig::fullBatch>(
            "full_batch", "every rank reads the whole batch", withPlace),
        key<&ParallelConfig::gradientsMean>(
            "gradients_mean", "reduced gradients are divided by the ranks",
            withPlace),
        key<&ParallelConfig::enableParallelOptimizer>(
            "enable_parallel_optimizer",
            "replicas share out the optimizer's state", withPlace,
            plans(&MemorySettings::optimizerSharding)),
        section("parallel_optimizer_config"),
        section("pipeline_config"),
        used("dataset_strategy",
             "how a batch is cut where ranks read parts of it"),
        key<&ParallelConfig::deviceNum>(
            "device_num", "devices that the launcher starts; 0 if not said",
            orNull),
        notModelled("loss_repeated_mean", "True"),
        notModelled("gradient_fp32_sync", "True"),
        notModelled("comm_fusion", "None|{}"),
        notModelled("auto_pipeline", "False"),
        notModelled("pipeline_stages", "1"),
        notModelled("grad_accumulation_step", "1"),
    }),
    irrelevant(search, {"search_mode", "auto_parallel_search_mode"}),
    irrelevant(collectives,
               {"enable_alltoall", "parameter_broadcast",
                "communi_parallel_mode", "all_reduce_fusion_config"}),
    irrelevant(checkpoints,
               {"strategy_ckpt_save_file", "strategy_ckpt_load_file",
                "strategy_ckpt_config", "group_ckpt_save_file"}),
    irrelevant(launch, {"global_rank"}));
constexpr KnownSection parallelSection = {"parallel", false, parallelKeys};

static constexpr auto parallelOptimizerKeys = keys({
    key<&ParallelConfig::gradientAccumulationShard>(
        "gradient_accumulation_shard",
        "accumulated gradients are shared out, too"),
    key<&ParallelConfig::parallelOptimizerThreshold>(
        "parallel_optimizer_threshold",
        "KB from which on a parameter is shared out", from(0)),
    key<&ParallelConfig::optimizerWeightShardSize>(
        "optimizer_weight_shard_size",
        "ranks that share one parameter; -1 is all", from(-1), withPlace),
    used("optimizer_level",
         "level1 shares out state, level2 gradients, level3 weights"),
});
constexpr KnownSection parallelOptimizerSection = {
    "parallel.parallel_optimizer_config", false, parallelOptimizerKeys};

static constexpr auto pipelineKeys = keys({
    key<&ParallelConfig::pipelineInterleave>(
        "pipeline_interleave",
        "stages have several chunks, as pp_interleave_num says"),
    key<&ParallelConfig::pipelineScheduler>(
        "pipeline_scheduler", "the order of micro-batches",
        oneOf(getPipelineSchedulers), withPlace),
});
constexpr KnownSection pipelineSection = {"parallel.pipeline_config", false,
                                          pipelineKeys};

static constexpr auto moeKeys = join(
    keys({
        key<&MoeConfig::expertNum>("expert_num", "routed experts of a layer",
                                   from(0)),
        used("num_experts_chosen", "experts that a token goes to"),
        used("capacity_factor", "room of an expert, in shares of all tokens"),
        used("aux_loss_factor", "weight of the loss that balances experts"),
        used("aux_loss_factors", "weights of the losses of aux_loss_types"),
        used("aux_loss_types", "what is balanced: expert, device, comm"),
        used("z_loss_factor", "weight of the loss on the router's scores"),
        used("routing_policy", "the class of the router"),
        used("enable_sdrop",
             "tokens beyond the capacity go to experts with room"),
        used("use_fused_ops_topkrouter", "places of tokens are one operator"),
        used("use_fused_ops_permute",
             "sorting tokens by expert is one operator"),
        used("shared_expert_num", "experts that every token goes to"),
        used("use_shared_expert_gating", "a gate weighs shared experts"),
        used("router_dense_type", "type of the router's product"),
        used("norm_topk_prob", "weights of the chosen experts add up to 1"),
        used("first_k_dense_replace", "layers in front that have no experts"),
        used("moe_intermediate_size", "width of an expert"),
        used("routed_scaling_factor", "factor on the weights of experts"),
        used("n_group", "groups of experts"),
        used("topk_group", "groups that a token may choose from"),
        used("topk_method", "how groups and experts are chosen"),
        used("balance_via_topk_bias", "a bias on scores balances experts"),
        used("topk_bias_update_rate", "what a step adds to that bias"),
        used("expert_group_size", "experts of a group that balance each other"),
        key<&MoeConfig::expertModelParallel>(
            "expert_model_parallel",
            "ranks that cut an expert of limited capacity", orNull),
        key<&MoeConfig::useGmm>("use_gmm",
                                "experts take all tokens that choose them"),
        used("use_gating_sigmoid", "scores are sigmoids, not a softmax"),
        used("enable_gmm_safe_tokens", "every expert gets a token at least"),
        used("callback_moe_droprate",
             "routers keep their load for the callback"),
        used("comp_comm_parallel", "exchange and experts overlap in parts"),
        used("comp_comm_parallel_degree", "the number of these parts"),
        used("ep_extend_tp",
             "experts are shared out over model-parallel ranks, too"),
        used("max_router_load", "tokens up to which a router works"),
        used("enable_deredundency", "a node gets a token once"),
        used("npu_nums_per_device", "ranks of a node"),
    }),
    irrelevant(collectives, {"group_wise_a2a", "use_allgather_dispatcher"}),
    irrelevant(overlap, {"moe_shared_expert_overlap"}),
    irrelevant(oldExperts, {"save_token_distribution", "cur_layer",
                            "enable_cold_hot_expert", "update_step",
                            "hot_expert_num", "cold_token_percent",
                            "moe_module_name", "dispatch_global_max_bs"}));
constexpr KnownSection moeSection = {"moe_config", true, moeKeys};

static constexpr auto runnerKeys = join(
    keys({
        key<&RunnerConfig::batchSize>("batch_size",
                                      "sequences per micro-batch and replica",
                                      plans(&MemorySettings::batchSize)),
        key<&RunnerConfig::gradientAccumulationSteps>(
            "gradient_accumulation_steps",
            "micro-batches of a step with one stage", orNull,
            plans(&MemorySettings::gradientAccumulation)),
    }),
    irrelevant(runLength, {"epochs", "sink_mode", "sink_size", "stop_step"}),
    irrelevant(unread, {"num_classes"}));
constexpr KnownSection runnerSection = {"runner_config", true, runnerKeys};

static constexpr auto wrapperKeys = join(
    keys({
        key<&RunnerWrapper::type>("type", "the class of the step"),
        key<&RunnerWrapper::useClipGrad>(
            "use_clip_grad", "gradients are clipped by their global norm"),
        key<&RunnerWrapper::maxGradNorm>("max_grad_norm",
                                         "the norm to which they are clipped",
                                         in(positive)),
        used("scale_sense", "factor on the loss, or a map with a type"),
        key<&RunnerWrapper::localNorm>(
            "local_norm", "norms of single gradients are printed; not lowered"),
        key<&RunnerWrapper::calculatePerTokenLoss>(
            "calculate_per_token_loss",
            "the loss is the mean over all tokens; not lowered"),
        key<&RunnerWrapper::useSkipDataByGlobalNorm>(
            "use_skip_data_by_global_norm",
            "steps with a high norm are skipped; not lowered"),
        key<&RunnerWrapper::globalNormSpikeThreshold>(
            "global_norm_spike_threshold", "the norm above which they are"),
        notModelled("sens", "1|1.0"),
    }),
    irrelevant(done, {"enable_check_overflow", "enable_global_norm"}),
    irrelevant(report, {"print_separate_loss"}),
    irrelevant(elsewhere, {"micro_batch_num"}));
constexpr KnownSection wrapperSection = {"runner_wrapper", false, wrapperKeys};

static constexpr auto lossScaleKeys = keys({
    used("type", "the class that updates the factor"),
    key<&LossScaleConfig::value>("loss_scale_value", "the first factor"),
    key<&LossScaleConfig::factor>("scale_factor",
                                  "by what an overflow divides it"),
    key<&LossScaleConfig::window>("scale_window",
                                  "steps without overflow until it grows"),
    notModelled("max_scale_window"),
    notModelled("min_scale_window"),
});
constexpr KnownSection lossScaleSection = {"runner_wrapper.scale_sense", false,
                                           lossScaleKeys};

static constexpr auto optimizerKeys = join(
    keys({
        key<&OptimizerConfig::type>("type", "the class of the optimizer"),
        used("betas", "beta1 and beta2 as a list"),
        key<&OptimizerConfig::beta1>("beta1", "decay of the first moment"),
        key<&OptimizerConfig::beta2>("beta2", "decay of the second moment"),
        key<&OptimizerConfig::eps>(
            "eps", "what is added to the root of the second moment",
            in(positive)),
        key<&OptimizerConfig::weightDecay>(
            "weight_decay", "decay of parameters of rank two and more",
            in(notNegative)),
        key<&OptimizerConfig::learningRate>(
            "learning_rate", "no effect: the rate is that of lr_schedule"),
        key<&OptimizerConfig::swap>("swap",
                                    "state lives on the host; not lowered"),
        key<&WeightAverageConfig::fusedNum>(
            "fused_num", "averages until parameters take it (PmaAdamW)"),
        key<&WeightAverageConfig::interleaveStep>(
            "interleave_step", "steps between averages (PmaAdamW)"),
        used("fused_algo", "ema or sma, the kind of average (PmaAdamW)"),
        key<&WeightAverageConfig::emaAlpha>(
            "ema_alpha", "share of the parameter in an average (PmaAdamW)",
            in(share)),
        notModelled("amsgrad", "False"),
        notModelled("maximize", "False"),
    }),
    irrelevant(sameNumbers, {"use_fused"}));
constexpr KnownSection optimizerSection = {"optimizer", false, optimizerKeys};

static constexpr auto lrScheduleKeys = join(
    keys({
        key<&LrScheduleConfig::type>("type", "the class of the schedule"),
        key<&LrScheduleConfig::learningRate>(
            "learning_rate", "the highest rate", in(notNegative)),
        key<&LrScheduleConfig::lrEnd>("lr_end", "the last rate",
                                      in(notNegative), orNull),
        key<&LrScheduleConfig::warmupLrInit>("warmup_lr_init",
                                             "the first rate of warm-up",
                                             in(notNegative), orNull),
        key<&LrScheduleConfig::warmupSteps>("warmup_steps", "steps of warm-up",
                                            from(0), orNull),
        key<&LrScheduleConfig::warmupRatio>(
            "warmup_ratio", "steps of warm-up as a share of the run", in(ratio),
            orNull),
        key<&LrScheduleConfig::totalSteps>(
            "total_steps", "steps of the schedule; -1 is the length of the run",
            orNull, orMinusOne),
        key<&LrScheduleConfig::numCycles>("num_cycles", "waves of a cosine",
                                          in(notNegative), orNull),
        key<&LrScheduleConfig::power>("power", "power of a polynomial",
                                      in(notNegative), orNull),
        key<&LrScheduleConfig::decaySteps>("decay_steps", "steps of decay",
                                           from(0), orNull),
        key<&LrScheduleConfig::decayRatio>(
            "decay_ratio", "steps of decay as a share of the run", in(ratio),
            orNull),
        key<&LrScheduleConfig::decayStartSteps>("decay_start_steps",
                                                "the step where decay starts",
                                                from(0), orNull),
        key<&LrScheduleConfig::decayStartRatio>(
            "decay_start_ratio", "that step as a share of the run", in(ratio),
            orNull),
        used("base_lr", "learning_rate of the annealing schedules"),
        key<&LrScheduleConfig::tMax>(
            "t_max", "half a period of CosineAnnealingLR", orNull),
        key<&LrScheduleConfig::t0>(
            "t_0", "the first period of CosineAnnealingWarmRestarts", orNull),
        key<&LrScheduleConfig::tMult>(
            "t_mult", "by what each period is longer than the one before",
            orNull),
        key<&LrScheduleConfig::etaMin>(
            "eta_min", "the lowest rate of annealing", in(notNegative), orNull),
        notModelled("warmup_epochs", "0|None"),
        notModelled("max_lr"),
        notModelled("min_lr"),
        notModelled("num_iters"),
    }),
    irrelevant(unread, {"auto_register", "scale_factor"}));
constexpr KnownSection lrScheduleSection = {"lr_schedule", false,
                                            lrScheduleKeys};

static constexpr auto lrGroupKeys =
    join(keys({used("params", "parts of names of parameters, or wildcards")}),
         lrScheduleKeys);
constexpr KnownSection lrGroupSection = {"grouped_lr_schedule.grouped", false,
                                         lrGroupKeys};

static constexpr auto groupedLrKeys = keys({
    used("default", "the schedule of parameters that no item names"),
    used("grouped", "schedules of other parameters, each with params"),
});
constexpr KnownSection groupedLrSection = {"grouped_lr_schedule", false,
                                           groupedLrKeys};

static constexpr auto balanceCallbackKeys = keys({
    used("type", "the class of the callback"),
    used("balance_via_topk_bias", "whether it does anything"),
    key<&BalanceCallback::rate>("topk_bias_update_rate",
                                "what a step adds to a bias"),
    key<&BalanceCallback::expertNum>("expert_num", "routed experts of a layer"),
    key<&BalanceCallback::microBatchNum>("micro_batch_num",
                                         "micro-batches whose load is summed"),
    key<&BalanceCallback::gradientAccumulationSteps>(
        "gradient_accumulation_steps", "passes whose load is summed"),
});
constexpr KnownSection balanceCallbackSection = {"TopkBiasBalanceCallback",
                                                 false, balanceCallbackKeys};

static constexpr auto dropRateCallbackKeys = keys({
    used("type", "the class of the callback"),
    key<&DropRateCallback::expertNum>("expert_num",
                                      "routed experts of a layer"),
    key<&DropRateCallback::capacityFactor>(
        "capacity_factor", "room of an expert, in shares of all tokens"),
    key<&DropRateCallback::numLayers>("num_layers",
                                      "layers that are looked at"),
    used("mtp_depth", "layers of multi-token prediction besides", from(0)),
});
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

const KnownKey *KnownSection::find(llvm::StringRef key) const {
  const auto *found = llvm::find_if(
      keys, [&](const KnownKey &known) { return known.name == key; });
  return found == keys.end() ? nullptr : found;
}

Node KnownSection::getNode(const Node &root) const {
  if (this == &topLevel)
    return root;
  Node node = root;
  for (auto [key, rest] = name.split('.'); !key.empty();
       std::tie(key, rest) = rest.split('.'))
    node = node[key];
  return node;
}

} // namespace mf
