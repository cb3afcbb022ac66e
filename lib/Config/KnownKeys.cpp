//===- KnownKeys.cpp - What we know of each section's keys ----------------===//
//
// Key names are those of MindSpore Transformers' configuration template and of
// what its YAML files have been seen to contain.
//
//===----------------------------------------------------------------------===//

#include "KnownKeys.h"

namespace mf {

static constexpr KeyUse used = KeyUse::Used;
static constexpr KeyUse irrelevant = KeyUse::Irrelevant;
static constexpr KeyUse notModelled = KeyUse::NotModelled;

static constexpr KnownKey recomputeKeys[] = {
    {"recompute", used},
    {"select_recompute", used},
    {"select_comm_recompute", used},
    {"select_recompute_exclude", used},
    {"select_comm_recompute_exclude", used},
    {"parallel_optimizer_comm_recompute", used},
    {"mp_comm_recompute", used},
    {"recompute_slice_activation", used},
};
constexpr KnownSection recomputeSection = {"recompute_config", true,
                                           recomputeKeys};

static constexpr KnownKey swapKeys[] = {
    {"swap", used},
    {"default_prefetch", used},
    {"layer_swap", used},
    {"op_swap", used},
};
constexpr KnownSection swapSection = {"swap_config", true, swapKeys};

static constexpr KnownKey parallelConfigKeys[] = {
    {"data_parallel", used},
    {"model_parallel", used},
    {"context_parallel", used},
    {"expert_parallel", used},
    {"pipeline_stage", used},
    {"micro_batch_num", used},
    {"seq_split_num", used},
    {"gradient_aggregation_group", used},
    {"use_seq_parallel", used},
    {"vocab_emb_dp", used},
    {"context_parallel_algo", used},
    {"ulysses_degree_in_cp", used},
    // Sharded optimizer states are asked for in section `parallel`.
    {"optimizer_shard", irrelevant},
    {"mem_coeff", irrelevant},
};
constexpr KnownSection parallelConfigSection = {"parallel_config", true,
                                                parallelConfigKeys};

static constexpr KnownKey parallelKeys[] = {
    {"parallel_mode", used},
    {"full_batch", used},
    {"gradients_mean", used},
    {"enable_parallel_optimizer", used},
    {"parallel_optimizer_config", used},
    {"pipeline_config", used},
    {"search_mode", irrelevant},
    {"auto_parallel_search_mode", irrelevant},
    {"enable_alltoall", irrelevant},
    {"strategy_ckpt_save_file", irrelevant},
    {"strategy_ckpt_load_file", irrelevant},
    {"strategy_ckpt_config", irrelevant},
    {"group_ckpt_save_file", irrelevant},
    {"dataset_strategy", irrelevant},
    {"device_num", irrelevant},
    {"global_rank", irrelevant},
    {"parameter_broadcast", irrelevant},
    {"communi_parallel_mode", irrelevant},
    {"all_reduce_fusion_config", irrelevant},
    {"loss_repeated_mean", notModelled, "True"},
    {"gradient_fp32_sync", notModelled, "True"},
    {"comm_fusion", notModelled, "None|{}"},
    {"auto_pipeline", notModelled, "False"},
    {"pipeline_stages", notModelled, "1"},
    {"grad_accumulation_step", notModelled, "1"},
};
constexpr KnownSection parallelSection = {"parallel", false, parallelKeys};

static constexpr KnownKey parallelOptimizerKeys[] = {
    {"gradient_accumulation_shard", used},
    {"parallel_optimizer_threshold", used},
    {"optimizer_weight_shard_size", used},
    {"optimizer_level", notModelled, "'level1'"},
};
constexpr KnownSection parallelOptimizerSection = {
    "parallel.parallel_optimizer_config", false, parallelOptimizerKeys};

static constexpr KnownKey pipelineKeys[] = {
    {"pipeline_interleave", used},
    {"pipeline_scheduler", used},
};
constexpr KnownSection pipelineSection = {"parallel.pipeline_config", false,
                                          pipelineKeys};

// Models with experts come later, and say so as a whole when they are
// imported; until then no key of theirs matters.
static constexpr KnownKey moeKeys[] = {
    {"expert_num", used},
    {"num_experts_chosen", irrelevant},
    {"capacity_factor", irrelevant},
    {"aux_loss_factor", irrelevant},
    {"aux_loss_factors", irrelevant},
    {"aux_loss_types", irrelevant},
    {"z_loss_factor", irrelevant},
    {"routing_policy", irrelevant},
    {"enable_sdrop", irrelevant},
    {"use_fused_ops_topkrouter", irrelevant},
    {"use_fused_ops_permute", irrelevant},
    {"shared_expert_num", irrelevant},
    {"use_shared_expert_gating", irrelevant},
    {"router_dense_type", irrelevant},
    {"norm_topk_prob", irrelevant},
    {"first_k_dense_replace", irrelevant},
    {"moe_intermediate_size", irrelevant},
    {"routed_scaling_factor", irrelevant},
    {"n_group", irrelevant},
    {"topk_group", irrelevant},
    {"topk_method", irrelevant},
    {"balance_via_topk_bias", irrelevant},
    {"topk_bias_update_rate", irrelevant},
    {"expert_group_size", irrelevant},
    {"expert_model_parallel", irrelevant},
    {"group_wise_a2a", irrelevant},
    {"use_gmm", irrelevant},
    {"use_gating_sigmoid", irrelevant},
    {"enable_gmm_safe_tokens", irrelevant},
    {"callback_moe_droprate", irrelevant},
    {"comp_comm_parallel", irrelevant},
    {"comp_comm_parallel_degree", irrelevant},
    {"ep_extend_tp", irrelevant},
    {"use_allgather_dispatcher", irrelevant},
    {"save_token_distribution", irrelevant},
    {"cur_layer", irrelevant},
    {"enable_cold_hot_expert", irrelevant},
    {"update_step", irrelevant},
    {"hot_expert_num", irrelevant},
    {"cold_token_percent", irrelevant},
    {"moe_module_name", irrelevant},
    {"max_router_load", irrelevant},
    {"moe_shared_expert_overlap", irrelevant},
    {"enable_deredundency", irrelevant},
    {"npu_nums_per_device", irrelevant},
    {"dispatch_global_max_bs", irrelevant},
};
constexpr KnownSection moeSection = {"moe_config", true, moeKeys};

static constexpr KnownKey runnerKeys[] = {
    {"epochs", used},
    {"batch_size", used},
    {"gradient_accumulation_steps", used},
    {"sink_mode", used},
    {"sink_size", used},
    {"stop_step", used},
    {"num_classes", irrelevant},
};
constexpr KnownSection runnerSection = {"runner_config", true, runnerKeys};

static constexpr KnownKey wrapperKeys[] = {
    {"type", used},
    {"use_clip_grad", used},
    {"max_grad_norm", used},
    {"scale_sense", used},
    {"local_norm", used},
    {"calculate_per_token_loss", used},
    {"use_skip_data_by_global_norm", used},
    {"global_norm_spike_threshold", used},
    // The real wrapper takes it and looks for overflows all the same.
    {"enable_check_overflow", irrelevant},
    {"enable_global_norm", irrelevant},
    {"print_separate_loss", irrelevant},
    {"micro_batch_num", irrelevant},
    {"sens", notModelled, "1|1.0"},
};
constexpr KnownSection wrapperSection = {"runner_wrapper", false, wrapperKeys};

static constexpr KnownKey lossScaleKeys[] = {
    {"type", used},
    {"loss_scale_value", used},
    {"scale_factor", used},
    {"scale_window", used},
    {"max_scale_window", notModelled},
    {"min_scale_window", notModelled},
};
constexpr KnownSection lossScaleSection = {"runner_wrapper.scale_sense", false,
                                           lossScaleKeys};

static constexpr KnownKey optimizerKeys[] = {
    {"type", used},
    {"betas", used},
    {"beta1", used},
    {"beta2", used},
    {"eps", used},
    {"weight_decay", used},
    {"learning_rate", used},
    {"swap", used},
    // Another kernel for the same numbers.
    {"use_fused", irrelevant},
    {"amsgrad", notModelled, "False"},
    {"maximize", notModelled, "False"},
};
constexpr KnownSection optimizerSection = {"optimizer", false, optimizerKeys};

static constexpr KnownKey lrScheduleKeys[] = {
    {"type", used},
    {"learning_rate", used},
    {"lr_end", used},
    {"warmup_lr_init", used},
    {"warmup_steps", used},
    {"warmup_ratio", used},
    {"total_steps", used},
    {"num_cycles", used},
    {"power", used},
    {"decay_steps", used},
    {"decay_ratio", used},
    {"decay_start_steps", used},
    {"decay_start_ratio", used},
    {"base_lr", used},
    {"t_max", used},
    {"t_0", used},
    {"t_mult", used},
    {"eta_min", used},
    {"auto_register", irrelevant},
    {"scale_factor", irrelevant},
    {"warmup_epochs", notModelled, "0|None"},
    {"max_lr", notModelled},
    {"min_lr", notModelled},
    {"num_iters", notModelled},
};
constexpr KnownSection lrScheduleSection = {"lr_schedule", false,
                                            lrScheduleKeys};

static constexpr KnownKey contextKeys[] = {
    {"max_device_memory", used},
    {"memory_optimize_level", used},
    {"mode", notModelled, "0|'GRAPH_MODE'"},
    {"ascend_config", used},
    {"device_target", irrelevant},
    {"device_id", irrelevant},
    {"max_call_depth", irrelevant},
    {"save_graphs", irrelevant},
    {"save_graphs_path", irrelevant},
    {"save_dump_path", irrelevant},
    {"print_file_path", irrelevant},
    {"env_config_path", irrelevant},
    {"enable_compile_cache", irrelevant},
    {"compile_cache_path", irrelevant},
    {"enable_graph_kernel", irrelevant},
    {"graph_kernel_flags", irrelevant},
    {"jit_config", irrelevant},
    {"jit_level", irrelevant},
    {"jit_syntax_level", irrelevant},
    {"mempool_block_size", irrelevant},
    {"runtime_num_threads", irrelevant},
    {"affinity_cpu_list", irrelevant},
    {"infer_boost", irrelevant},
    {"deterministic", irrelevant},
    {"pynative_synchronize", irrelevant},
    {"check_bprop", irrelevant},
    {"reserve_class_name_in_scope", irrelevant},
    {"inter_op_parallel_num", irrelevant},
    {"disable_format_transform", irrelevant},
    {"debug_level", irrelevant},
    {"parameter_cache", irrelevant},
    {"memory_offload", notModelled, "'OFF'"},
    {"mem_offload_config", notModelled, "None|{}"},
    {"grad_for_scalar", irrelevant},
};
constexpr KnownSection contextSection = {"context", false, contextKeys};

static constexpr KnownKey ascendConfigKeys[] = {
    {"precision_mode", notModelled, "'must_keep_origin_dtype'"},
    {"parallel_speed_up_json_path", irrelevant},
    {"jit_compile", irrelevant},
    {"atomic_clean_policy", irrelevant},
    {"matmul_allow_hf32", notModelled, "False"},
    {"conv_allow_hf32", irrelevant},
    {"exception_dump", irrelevant},
    {"op_precision_mode", notModelled, "''|None"},
    {"ge_options", irrelevant},
    {"hccl_watchdog", irrelevant},
    {"topo_order", irrelevant},
};
constexpr KnownSection ascendConfigSection = {"context.ascend_config", false,
                                              ascendConfigKeys};

static constexpr KnownKey modelKeys[] = {
    {"model_config", used},
    {"arch", used},
};
constexpr KnownSection modelSection = {"model", false, modelKeys};

static constexpr KnownKey topLevelKeys[] = {
    {"recompute_config", used},
    {"swap_config", used},
    {"parallel_config", used},
    {"parallel", used},
    {"moe_config", used},
    {"runner_config", used},
    {"runner_wrapper", used},
    {"optimizer", used},
    {"lr_schedule", used},
    {"context", used},
    {"model", used},
    {"callbacks", used},
    {"callback", used},
    {"seed", used},
    {"use_parallel", used},
    {"use_legacy", used},
    {"micro_batch_interleave_num", used},
    {"train_dataset", irrelevant},
    {"train_dataset_task", irrelevant},
    {"eval_dataset", irrelevant},
    {"eval_dataset_task", irrelevant},
    {"processor", irrelevant},
    {"trainer", irrelevant},
    {"metric", irrelevant},
    {"eval_callbacks", irrelevant},
    {"monitor_config", irrelevant},
    {"output_dir", irrelevant},
    {"run_mode", irrelevant},
    {"run_status", irrelevant},
    {"load_checkpoint", irrelevant},
    {"load_ckpt_format", irrelevant},
    {"load_ckpt_async", irrelevant},
    {"src_strategy_path_or_dir", irrelevant},
    {"auto_trans_ckpt", irrelevant},
    {"transform_process_num", irrelevant},
    {"only_save_strategy", irrelevant},
    {"resume_training", irrelevant},
    {"resume_by_last_timestamp_ckpt", irrelevant},
    {"use_checkpoint_health_monitor", irrelevant},
    {"use_graceful_exit", irrelevant},
    {"ignore_data_skip", irrelevant},
    {"data_skip_steps", irrelevant},
    {"remove_redundancy", irrelevant},
    {"pretrained_model_dir", irrelevant},
    {"profile", irrelevant},
    {"profile_start_step", irrelevant},
    {"profile_stop_step", irrelevant},
    {"profile_memory", irrelevant},
    {"profile_communication", irrelevant},
    {"profile_level", irrelevant},
    {"profile_output", irrelevant},
    {"profile_rank_ids", irrelevant},
    {"profile_pipeline", irrelevant},
    {"profiler_level", irrelevant},
    {"profiling_config", irrelevant},
    {"init_start_profile", irrelevant},
    {"with_stack", irrelevant},
    {"data_simplification", irrelevant},
    {"mstx", irrelevant},
    {"auto_tune", irrelevant},
    {"filepath_prefix", irrelevant},
    {"autotune_per_step", irrelevant},
    {"remote_save_url", irrelevant},
    {"do_eval", irrelevant},
    {"eval_step_interval", irrelevant},
    {"eval_epoch_interval", irrelevant},
    {"lr_scale_factor", irrelevant},
    {"layer_decay", irrelevant},
    {"memory_usage", irrelevant},
    {"time_config", irrelevant},
    {"pipeline_config", irrelevant},
    {"train_precision_sync", irrelevant},
    {"infer_precision_sync", irrelevant},
    {"print_separate_loss", irrelevant},
    {"check_for_nan_in_loss_and_grad", irrelevant},
    {"push_to_hub", irrelevant},
    {"hub_model_id", irrelevant},
    {"hub_token", irrelevant},
    {"hub_private_repo", irrelevant},
    {"input_data", irrelevant},
    {"predict_batch_size", irrelevant},
    {"infer", irrelevant},
    {"generate", irrelevant},
    {"adapter_id", irrelevant},
    {"description", irrelevant},
    {"layer_scale", notModelled, "False"},
    {"lr_scale", notModelled, "False"},
    {"grouped_lr_schedule", notModelled, "None|{}"},
    {"no_decay_params", notModelled, "None|[]"},
};
constexpr KnownSection topLevel = {"the top level", false, topLevelKeys};

} // namespace mf
