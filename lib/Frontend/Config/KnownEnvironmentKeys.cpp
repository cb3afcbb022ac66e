//===- KnownEnvironmentKeys.cpp - Keys around the training step -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The top level, which is mostly about the run, and the sections about the
// device and the model.
//
//===----------------------------------------------------------------------===//

#include "mf/Frontend/Config/KnownKeys.h"

namespace mf {

using namespace known;

static constexpr KnownKey contextKeys[] = {
    used("max_device_memory", "memory of a rank, as '58GB'"),
    used("memory_optimize_level",
         "O1 reuses memory across devices, which excludes swap"),
    notModelled("mode", "0|'GRAPH_MODE'"),
    section("ascend_config"),
    used("enable_graph_kernel", "vector operators are fused"),
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
    {report, "save_graphs save_graphs_path save_dump_path print_file_path "
             "debug_level"},
    {host, "env_config_path mempool_block_size runtime_num_threads "
           "affinity_cpu_list inter_op_parallel_num parameter_cache"},
};
constexpr KnownSection contextSection = {"context", false, contextKeys,
                                         contextRest};

static constexpr KnownKey ascendConfigKeys[] = {
    used("parallel_speed_up_json_path",
         "pp_1f1b_overlap in this file, beside the YAML, pairs forwards and "
         "backwards of zero_bubble_v"),
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
    used("jit_level", "O1 fuses vector operators"),
};
static constexpr IrrelevantKeys jitConfigRest[] = {
    {compilation, "infer_boost jit_syntax_level exec_mode"},
};
constexpr KnownSection jitConfigSection = {"context.jit_config", false,
                                           jitConfigKeys, jitConfigRest};

static constexpr KnownKey moeKeys[] = {
    key<&MoeConfig::expertNum>("expert_num", "routed experts of a layer",
                               from(0)),
    used("num_experts_chosen", "experts that a token goes to"),
    used("capacity_factor", "room of an expert, in shares of all tokens",
         byDefault("1.1")),
    used("aux_loss_factor", "weight of the loss that balances experts",
         byDefault("0.05")),
    used("aux_loss_factors", "weights of the losses of aux_loss_types",
         byDefault("[]")),
    used("aux_loss_types", "what is balanced: expert, device, comm"),
    used("z_loss_factor", "weight of the loss on the router's scores",
         byDefault("0.0")),
    used("routing_policy", "the class of the router",
         byDefault("'TopkRouterV1'")),
    used("enable_sdrop", "tokens beyond the capacity go to experts with room",
         byDefault("False")),
    used("use_fused_ops_topkrouter", "places of tokens are one operator"),
    used("use_fused_ops_permute", "sorting tokens by expert is one operator"),
    used("shared_expert_num", "experts that every token goes to",
         byDefault("0")),
    used("use_shared_expert_gating", "a gate weighs shared experts",
         byDefault("False")),
    used("router_dense_type", "type of the router's product"),
    used("norm_topk_prob", "weights of the chosen experts add up to 1"),
    used("first_k_dense_replace", "layers in front that have no experts",
         byDefault("True")),
    used("moe_intermediate_size", "width of an expert", byDefault("1407")),
    used("routed_scaling_factor", "factor on the weights of experts",
         byDefault("1.0")),
    used("n_group", "groups of experts", byDefault("None")),
    used("topk_group", "groups that a token may choose from",
         byDefault("None")),
    used("topk_method", "how groups and experts are chosen",
         byDefault("'greedy'")),
    used("balance_via_topk_bias", "a bias on scores balances experts"),
    used("topk_bias_update_rate", "what a step adds to that bias",
         byDefault("0")),
    used("expert_group_size", "experts of a group that balance each other",
         byDefault("None")),
    key<&MoeConfig::expertModelParallel>(
        "expert_model_parallel", "ranks that cut an expert of limited capacity",
        orNull, byDefault("None")),
    key<&MoeConfig::useGmm>("use_gmm",
                            "experts take all tokens that choose them",
                            byDefault("False")),
    used("use_gating_sigmoid", "scores are sigmoids, not a softmax"),
    used("enable_gmm_safe_tokens", "every expert gets a token at least",
         byDefault("False")),
    used("callback_moe_droprate", "routers keep their load for the callback",
         byDefault("False")),
    used("comp_comm_parallel", "exchange and experts overlap in parts",
         byDefault("False")),
    used("comp_comm_parallel_degree", "the number of these parts",
         byDefault("2")),
    used("ep_extend_tp",
         "experts are also distributed over model-parallel ranks",
         byDefault("True")),
    used("max_router_load", "tokens up to which a router works",
         byDefault("131072")),
    used("enable_deredundency", "a node gets a token once", byDefault("False")),
    used("npu_nums_per_device", "ranks of a node", byDefault("1")),
};
static constexpr IrrelevantKeys moeRest[] = {
    {collectives, "group_wise_a2a use_allgather_dispatcher"},
    {overlap, "moe_shared_expert_overlap"},
    {oldExperts,
     "save_token_distribution cur_layer enable_cold_hot_expert "
     "update_step hot_expert_num cold_token_percent moe_module_name "
     "dispatch_global_max_bs"},
};
constexpr KnownSection moeSection = {"moe_config", true, moeKeys, moeRest};

static constexpr KnownKey modelKeys[] = {
    used("model_config", "the model: sizes, types, layers of stages"),
    used("arch", "the network's class, or a map with its type"),
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
    used("callbacks", "a list of callbacks, each a map with a type"),
    used("callback", "another name for callbacks"),
    used("use_parallel", "False trains on one device"),
    used("use_legacy",
         "names of the classic layer classes, or of the mcore graph"),
    used("micro_batch_interleave_num",
         "copies of the model in each micro-batch"),
    used("train_dataset",
         "how samples are divided among ranks, by its data_loader.type"),
    notModelled("layer_scale", "False"),
    notModelled("lr_scale", "False"),
    notModelled("no_decay_params", "None|[]"),
};
static constexpr IrrelevantKeys topLevelRest[] = {
    {seeds, "seed"},
    {samples, "train_dataset_task processor data_simplification input_data"},
    {evaluation,
     "eval_dataset eval_dataset_task metric eval_callbacks do_eval "
     "eval_step_interval eval_epoch_interval predict_batch_size infer "
     "generate"},
    {launch, "trainer run_mode run_status use_graceful_exit push_to_hub "
             "hub_model_id hub_token hub_private_repo adapter_id description"},
    {report,
     "monitor_config output_dir profile profile_start_step "
     "profile_stop_step profile_memory profile_communication "
     "profile_level profile_output profile_rank_ids profile_pipeline "
     "profiler_level profiling_config init_start_profile with_stack mstx "
     "memory_usage time_config print_separate_loss "
     "check_for_nan_in_loss_and_grad"},
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

} // namespace mf
