//===- KnownKeys.cpp - What we know of each section's keys ----------------===//
//
// Key names are those of MindSpore Transformers' configuration template and of
// what its YAML files have been seen to contain.
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
    irrelevant("num_experts_chosen", experts),
    irrelevant("capacity_factor", experts),
    irrelevant("aux_loss_factor", experts),
    irrelevant("aux_loss_factors", experts),
    irrelevant("aux_loss_types", experts),
    irrelevant("z_loss_factor", experts),
    irrelevant("routing_policy", experts),
    irrelevant("enable_sdrop", experts),
    irrelevant("use_fused_ops_topkrouter", experts),
    irrelevant("use_fused_ops_permute", experts),
    irrelevant("shared_expert_num", experts),
    irrelevant("use_shared_expert_gating", experts),
    irrelevant("router_dense_type", experts),
    irrelevant("norm_topk_prob", experts),
    irrelevant("first_k_dense_replace", experts),
    irrelevant("moe_intermediate_size", experts),
    irrelevant("routed_scaling_factor", experts),
    irrelevant("n_group", experts),
    irrelevant("topk_group", experts),
    irrelevant("topk_method", experts),
    irrelevant("balance_via_topk_bias", experts),
    irrelevant("topk_bias_update_rate", experts),
    irrelevant("expert_group_size", experts),
    used("expert_model_parallel"),
    irrelevant("group_wise_a2a", experts),
    used("use_gmm"),
    irrelevant("use_gating_sigmoid", experts),
    irrelevant("enable_gmm_safe_tokens", experts),
    irrelevant("callback_moe_droprate", experts),
    irrelevant("comp_comm_parallel", experts),
    irrelevant("comp_comm_parallel_degree", experts),
    irrelevant("ep_extend_tp", experts),
    irrelevant("use_allgather_dispatcher", experts),
    irrelevant("save_token_distribution", experts),
    irrelevant("cur_layer", experts),
    irrelevant("enable_cold_hot_expert", experts),
    irrelevant("update_step", experts),
    irrelevant("hot_expert_num", experts),
    irrelevant("cold_token_percent", experts),
    irrelevant("moe_module_name", experts),
    irrelevant("max_router_load", experts),
    irrelevant("moe_shared_expert_overlap", experts),
    irrelevant("enable_deredundency", experts),
    irrelevant("npu_nums_per_device", experts),
    irrelevant("dispatch_global_max_bs", experts),
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
    irrelevant("use_fused", sameNumbers),
    notModelled("amsgrad", "False"),
    notModelled("maximize", "False"),
};
constexpr KnownSection optimizerSection = {"optimizer", false, optimizerKeys};

static constexpr KnownKey lrScheduleKeys[] = {
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
constexpr KnownSection lrScheduleSection = {"lr_schedule", false,
                                            lrScheduleKeys};

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
                                                     &contextSection,
                                                     &ascendConfigSection,
                                                     &modelSection,
                                                     &topLevel};
  return sections;
}

} // namespace mf
