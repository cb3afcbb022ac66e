//===- KnownKeys.cpp - The keys of each section and their use -------------===//
//
// Key names are those of MindSpore Transformers' configuration template and
// those seen in its YAML files.
//
//===----------------------------------------------------------------------===//

#include "KnownKeys.h"

namespace mf {

using namespace known;

static constexpr KnownKey recomputeKeys[] = {
    used("recompute"),
    used("select_recompute"),
    used("select_comm_recompute"),
    used("select_recompute_exclude"),
    used("select_comm_recompute_exclude"),
    used("parallel_optimizer_comm_recompute"),
    used("mp_comm_recompute"),
    used("recompute_slice_activation"),
};
constexpr KnownSection recomputeSection = {"recompute_config", true,
                                           recomputeKeys};

static constexpr KnownKey swapKeys[] = {
    used("swap"),
    used("default_prefetch"),
    used("layer_swap"),
    used("op_swap"),
};
constexpr KnownSection swapSection = {"swap_config", true, swapKeys};

static constexpr KnownKey parallelConfigKeys[] = {
    used("data_parallel"),
    used("model_parallel"),
    used("context_parallel"),
    used("expert_parallel"),
    used("pipeline_stage"),
    used("micro_batch_num"),
    used("seq_split_num"),
    used("gradient_aggregation_group"),
    used("use_seq_parallel"),
    used("vocab_emb_dp"),
    used("context_parallel_algo"),
    used("ulysses_degree_in_cp"),
    irrelevant("optimizer_shard", elsewhere),
    irrelevant("mem_coeff", search),
};
constexpr KnownSection parallelConfigSection = {"parallel_config", true,
                                                parallelConfigKeys};

static constexpr KnownKey parallelKeys[] = {
    used("parallel_mode"),
    used("full_batch"),
    used("gradients_mean"),
    used("enable_parallel_optimizer"),
    section("parallel_optimizer_config"),
    section("pipeline_config"),
    irrelevant("search_mode", search),
    irrelevant("auto_parallel_search_mode", search),
    irrelevant("enable_alltoall", collectives),
    irrelevant("strategy_ckpt_save_file", checkpoints),
    irrelevant("strategy_ckpt_load_file", checkpoints),
    irrelevant("strategy_ckpt_config", checkpoints),
    irrelevant("group_ckpt_save_file", checkpoints),
    used("dataset_strategy"),
    used("device_num"),
    irrelevant("global_rank", launch),
    irrelevant("parameter_broadcast", collectives),
    irrelevant("communi_parallel_mode", collectives),
    irrelevant("all_reduce_fusion_config", collectives),
    notModelled("loss_repeated_mean", "True"),
    notModelled("gradient_fp32_sync", "True"),
    notModelled("comm_fusion", "None|{}"),
    notModelled("auto_pipeline", "False"),
    notModelled("pipeline_stages", "1"),
    notModelled("grad_accumulation_step", "1"),
};
constexpr KnownSection parallelSection = {"parallel", false, parallelKeys};

static constexpr KnownKey parallelOptimizerKeys[] = {
    used("gradient_accumulation_shard"),
    used("parallel_optimizer_threshold"),
    used("optimizer_weight_shard_size"),
    used("optimizer_level"),
};
constexpr KnownSection parallelOptimizerSection = {
    "parallel.parallel_optimizer_config", false, parallelOptimizerKeys};

static constexpr KnownKey pipelineKeys[] = {
    used("pipeline_interleave"),
    used("pipeline_scheduler"),
};
constexpr KnownSection pipelineSection = {"parallel.pipeline_config", false,
                                          pipelineKeys};

static constexpr KnownKey moeKeys[] = {
    used("expert_num"),
    used("num_experts_chosen"),
    used("capacity_factor"),
    used("aux_loss_factor"),
    used("aux_loss_factors"),
    used("aux_loss_types"),
    used("z_loss_factor"),
    used("routing_policy"),
    used("enable_sdrop"),
    used("use_fused_ops_topkrouter"),
    used("use_fused_ops_permute"),
    used("shared_expert_num"),
    used("use_shared_expert_gating"),
    used("router_dense_type"),
    used("norm_topk_prob"),
    used("first_k_dense_replace"),
    used("moe_intermediate_size"),
    used("routed_scaling_factor"),
    used("n_group"),
    used("topk_group"),
    used("topk_method"),
    used("balance_via_topk_bias"),
    used("topk_bias_update_rate"),
    used("expert_group_size"),
    used("expert_model_parallel"),
    used("use_gmm"),
    used("use_gating_sigmoid"),
    used("enable_gmm_safe_tokens"),
    used("callback_moe_droprate"),
    used("comp_comm_parallel"),
    used("comp_comm_parallel_degree"),
    used("ep_extend_tp"),
    used("max_router_load"),
    used("enable_deredundency"),
    used("npu_nums_per_device"),
    irrelevant("group_wise_a2a", collectives),
    irrelevant("use_allgather_dispatcher", collectives),
    irrelevant("moe_shared_expert_overlap", overlap),
    irrelevant("save_token_distribution", oldExperts),
    irrelevant("cur_layer", oldExperts),
    irrelevant("enable_cold_hot_expert", oldExperts),
    irrelevant("update_step", oldExperts),
    irrelevant("hot_expert_num", oldExperts),
    irrelevant("cold_token_percent", oldExperts),
    irrelevant("moe_module_name", oldExperts),
    irrelevant("dispatch_global_max_bs", oldExperts),
};
constexpr KnownSection moeSection = {"moe_config", true, moeKeys};

static constexpr KnownKey runnerKeys[] = {
    irrelevant("epochs", runLength),     used("batch_size"),
    used("gradient_accumulation_steps"), irrelevant("sink_mode", runLength),
    irrelevant("sink_size", runLength),  irrelevant("stop_step", runLength),
    irrelevant("num_classes", unread),
};
constexpr KnownSection runnerSection = {"runner_config", true, runnerKeys};

static constexpr KnownKey wrapperKeys[] = {
    used("type"),
    used("use_clip_grad"),
    used("max_grad_norm"),
    used("scale_sense"),
    used("local_norm"),
    used("calculate_per_token_loss"),
    used("use_skip_data_by_global_norm"),
    used("global_norm_spike_threshold"),
    irrelevant("enable_check_overflow", done),
    irrelevant("enable_global_norm", done),
    irrelevant("print_separate_loss", report),
    irrelevant("micro_batch_num", elsewhere),
    notModelled("sens", "1|1.0"),
};
constexpr KnownSection wrapperSection = {"runner_wrapper", false, wrapperKeys};

static constexpr KnownKey lossScaleKeys[] = {
    used("type"),
    used("loss_scale_value"),
    used("scale_factor"),
    used("scale_window"),
    notModelled("max_scale_window"),
    notModelled("min_scale_window"),
};
constexpr KnownSection lossScaleSection = {"runner_wrapper.scale_sense", false,
                                           lossScaleKeys};

static constexpr KnownKey optimizerKeys[] = {
    used("type"),
    used("betas"),
    used("beta1"),
    used("beta2"),
    used("eps"),
    used("weight_decay"),
    used("learning_rate"),
    used("swap"),
    used("fused_num"),
    used("interleave_step"),
    used("fused_algo"),
    used("ema_alpha"),
    irrelevant("use_fused", sameNumbers),
    notModelled("amsgrad", "False"),
    notModelled("maximize", "False"),
};
constexpr KnownSection optimizerSection = {"optimizer", false, optimizerKeys};

// An item of grouped_lr_schedule has the keys of a schedule behind the first.
static constexpr KnownKey lrGroupKeys[] = {
    used("params"),
    used("type"),
    used("learning_rate"),
    used("lr_end"),
    used("warmup_lr_init"),
    used("warmup_steps"),
    used("warmup_ratio"),
    used("total_steps"),
    used("num_cycles"),
    used("power"),
    used("decay_steps"),
    used("decay_ratio"),
    used("decay_start_steps"),
    used("decay_start_ratio"),
    used("base_lr"),
    used("t_max"),
    used("t_0"),
    used("t_mult"),
    used("eta_min"),
    irrelevant("auto_register", unread),
    irrelevant("scale_factor", unread),
    notModelled("warmup_epochs", "0|None"),
    notModelled("max_lr"),
    notModelled("min_lr"),
    notModelled("num_iters"),
};
constexpr KnownSection lrGroupSection = {"grouped_lr_schedule.grouped", false,
                                         lrGroupKeys};
constexpr KnownSection lrScheduleSection = {
    "lr_schedule", false,
    llvm::ArrayRef<KnownKey>(lrGroupKeys + 1, std::size(lrGroupKeys) - 1)};

static constexpr KnownKey groupedLrKeys[] = {
    used("default"),
    used("grouped"),
};
constexpr KnownSection groupedLrSection = {"grouped_lr_schedule", false,
                                           groupedLrKeys};

static constexpr KnownKey balanceCallbackKeys[] = {
    used("type"),
    used("balance_via_topk_bias"),
    used("topk_bias_update_rate"),
    used("expert_num"),
    used("micro_batch_num"),
    used("gradient_accumulation_steps"),
};
constexpr KnownSection balanceCallbackSection = {"TopkBiasBalanceCallback",
                                                 false, balanceCallbackKeys};

static constexpr KnownKey dropRateCallbackKeys[] = {
    used("type"),       used("expert_num"), used("capacity_factor"),
    used("num_layers"), used("mtp_depth"),
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

} // namespace mf
