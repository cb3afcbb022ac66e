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
    deviceMemory,
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
#define EXPERT_KEY(NAME, ...) expert::NAME,
#include "mf/Frontend/Config/ExpertKeys.def"
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
