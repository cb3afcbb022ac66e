//===- KeyTrials.h - A YAML in which each key matters ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_PASSES_KEYTRIALS_H
#define MF_TEST_UNIT_PASSES_KEYTRIALS_H

#include "mf/Frontend/Config/KnownKeys.h"

namespace mf {

/// A key, and a YAML in which it matters.
struct Trial {
  const KnownSection &section;
  llvm::StringLiteral key;
  llvm::StringLiteral value;
  llvm::StringLiteral otherValue;
  /// Other keys of the section, as in a mapping in flow style.
  llvm::StringLiteral others = "";
  /// Other sections. Without `model` among them the model is a small Llama.
  llvm::StringLiteral sections = "";
};

#define TWO_RANKS "parallel_config: {data_parallel: 2}\n"
#define TWO_STAGES "parallel_config: {pipeline_stage: 2, micro_batch_num: 2}\n"
#define TWO_CHUNKS                                                             \
  "model: {arch: LlamaForCausalLM, model_config: {seq_length: 16, "            \
  "hidden_size: 32, num_layers: 4, num_heads: 4, pp_interleave_num: 2}}\n"
#define TELECHAT                                                               \
  "model: {arch: {type: TelechatForCausalLM}, model_config: {type: "           \
  "TelechatConfig, seq_length: 16, hidden_size: 32, num_layers: 1, "           \
  "num_heads: 4, vocab_size: 64, use_flash_attention: True}}\n"
#define EXPERTS "expert_num: 4, num_experts_chosen: 2"
#define CAPACITY EXPERTS ", routing_policy: TopkRouterV2"

inline const Trial trials[] = {
    {recomputeSection, "recompute", "True", "[1]"},
    {recomputeSection, "select_recompute", "True", "['add']"},
    {recomputeSection, "select_comm_recompute", "True", "False"},
    {recomputeSection, "select_recompute_exclude", "['add']", "[]"},
    {recomputeSection, "select_comm_recompute_exclude", "['add']", "[]"},
    {recomputeSection, "parallel_optimizer_comm_recompute", "True", "False"},
    {recomputeSection, "mp_comm_recompute", "True", "False"},
    {recomputeSection, "recompute_slice_activation", "True", "False"},

    {swapSection, "swap", "True", "False"},
    {swapSection, "default_prefetch", "1", "2", "swap: True"},
    {swapSection, "layer_swap", "[{backward_prefetch: 1, layers: [0]}]",
     "[{backward_prefetch: 1, layers: [1]}]", "swap: True"},
    {swapSection, "op_swap",
     "[{op_name: add, backward_prefetch: 1, layers: True}]",
     "[{op_name: mul, backward_prefetch: 1, layers: True}]", "swap: True"},

    {parallelConfigSection, "data_parallel", "1", "2"},
    {parallelConfigSection, "model_parallel", "1", "2"},
    {parallelConfigSection, "context_parallel", "1", "2"},
    {parallelConfigSection, "expert_parallel", "1", "2"},
    {parallelConfigSection, "pipeline_stage", "1", "2"},
    {parallelConfigSection, "micro_batch_num", "2", "4", "pipeline_stage: 2"},
    {parallelConfigSection, "seq_split_num", "1", "2"},
    {parallelConfigSection, "gradient_aggregation_group", "4", "2"},
    {parallelConfigSection, "use_seq_parallel", "True", "False",
     "model_parallel: 2"},
    {parallelConfigSection, "vocab_emb_dp", "True", "False",
     "model_parallel: 2"},
    {parallelConfigSection, "context_parallel_algo", "colossalai_cp",
     "ulysses_cp", "context_parallel: 2"},
    {parallelConfigSection, "ulysses_degree_in_cp", "1", "2",
     "context_parallel: 4, context_parallel_algo: hybrid_cp"},

    {parallelSection, "parallel_mode", "0", "1"},
    {parallelSection, "full_batch", "True", "False",
     "dataset_strategy: [[2, 1]]", TWO_RANKS},
    {parallelSection, "dataset_strategy", "[[2, 1]]", "[[1, 1]]",
     "full_batch: False", TWO_RANKS},
    {parallelSection, "gradients_mean", "True", "False", "", TWO_RANKS},
    {parallelSection, "enable_parallel_optimizer", "True", "False", "",
     TWO_RANKS},
    {parallelOptimizerSection, "gradient_accumulation_shard", "True", "False",
     "", TWO_RANKS},
    {parallelOptimizerSection, "parallel_optimizer_threshold", "64", "32", "",
     TWO_RANKS},
    {parallelOptimizerSection, "optimizer_weight_shard_size", "-1", "2", "",
     TWO_RANKS},
    {parallelOptimizerSection, "optimizer_level", "level1", "level2", "",
     TWO_RANKS},
    // Neither file is there, which a warning says.
    {ascendConfigSection, "parallel_speed_up_json_path", "a.json", "b.json", "",
     TWO_CHUNKS "parallel_config: {pipeline_stage: 2, micro_batch_num: "
                "4}\nparallel: {pipeline_config: {pipeline_interleave: True, "
                "pipeline_scheduler: zero_bubble_v}}\n"},
    {parallelSection, "device_num", "1", "2"},
    {pipelineSection, "pipeline_interleave", "True", "False", "",
     TWO_STAGES TWO_CHUNKS},
    {pipelineSection, "pipeline_scheduler", "1f1b", "gpipe", "", TWO_STAGES},

    {runnerSection, "batch_size", "1", "2"},
    {runnerSection, "gradient_accumulation_steps", "1", "2"},

    {wrapperSection, "type", "MFTrainOneStepCell", "TrainOneStepCell"},
    {wrapperSection, "use_clip_grad", "True", "False"},
    {wrapperSection, "max_grad_norm", "1.0", "2.0", "use_clip_grad: True"},
    {wrapperSection, "scale_sense", "1.0", "2.0"},
    {wrapperSection, "local_norm", "True", "False"},
    {wrapperSection, "calculate_per_token_loss", "True", "False"},
    {wrapperSection, "use_skip_data_by_global_norm", "True", "False"},
    {wrapperSection, "global_norm_spike_threshold", "1.0", "2.0",
     "use_skip_data_by_global_norm: True"},
    {lossScaleSection, "type", "DynamicLossScaleUpdateCell",
     "FixedLossScaleUpdateCell"},
    {lossScaleSection, "loss_scale_value", "2", "4"},
    {lossScaleSection, "scale_factor", "2", "4"},
    {lossScaleSection, "scale_window", "100", "200"},

    {optimizerSection, "type", "AdamW", "AdamWeightDecay"},
    {optimizerSection, "betas", "[0.9, 0.95]", "[0.8, 0.95]"},
    {optimizerSection, "beta1", "0.9", "0.8"},
    {optimizerSection, "beta2", "0.9", "0.8"},
    {optimizerSection, "eps", "1.e-5", "1.e-6"},
    {optimizerSection, "weight_decay", "0.0", "0.1"},
    {optimizerSection, "learning_rate", "1.e-5", "1.e-6", "",
     "lr_schedule: {learning_rate: 1.e-5}\n"},
    {optimizerSection, "swap", "True", "False"},
    {optimizerSection, "fused_num", "5", "6", "type: PmaAdamW"},
    {optimizerSection, "interleave_step", "5", "6", "type: PmaAdamW"},
    {optimizerSection, "fused_algo", "ema", "sma", "type: PmaAdamW"},
    {optimizerSection, "ema_alpha", "0.1", "0.2", "type: PmaAdamW"},
    {optimizerSection, "momentum", "0.9", "0.8", "type: Muon"},
    {optimizerSection, "nesterov", "True", "False", "type: Muon"},
    {optimizerSection, "matched_adamw_rms", "0.1", "0.2", "type: Muon"},
    {optimizerSection, "ns_steps", "3", "4", "type: Muon"},
    {optimizerSection, "ns_coefficients", "[3, -4, 2]", "[[[3, -4, 2], 1]]",
     "type: Muon"},
    {optimizerSection, "adamw_betas", "[0.9, 0.95]", "[0.8, 0.95]",
     "type: Muon"},
    {optimizerSection, "adamw_eps", "1.e-5", "1.e-6", "type: Muon"},
    {optimizerSection, "adamw_include", "[head]", "[table]", "type: Muon"},
    {optimizerSection, "comm_strategy", "allgather", "allgather_deredundency",
     "type: Muon"},
    {optimizerSection, "qk_clip_enabled", "True", "False", "type: Muon"},
    {optimizerSection, "qk_clip_threshold", "3", "4", "type: Muon"},
    {optimizerSection, "micro_batch_num", "2", "3", "type: Muon"},

    {optimizerSection, "scale_parameter", "True", "False", "type: Came"},
    {optimizerSection, "relative_step", "True", "False", "type: Came"},
    {optimizerSection, "warmup_init", "True", "False", "type: Came"},
    {optimizerSection, "compression", "True", "False", "type: Came"},
    {optimizerSection, "clip_threshold", "1.5", "0.5", "type: Came"},
    {optimizerSection, "decay_rate", "0.7", "0.6", "type: Came"},
    {optimizerSection, "beta3", "0.9", "0.8", "type: Came"},
    {groupedLrSection, "default", "{learning_rate: 1.e-5}",
     "{learning_rate: 1.e-6}"},
    {groupedLrSection, "grouped", "[{params: [norm], learning_rate: 1.e-5}]",
     "[{params: [norm], learning_rate: 1.e-6}]",
     "default: {learning_rate: 1.e-5}"},
    {lrScheduleSection, "type", "cosine", "linear"},
    {lrScheduleSection, "learning_rate", "1.e-5", "1.e-6"},
    {lrScheduleSection, "lr_end", "1.e-5", "1.e-6"},
    {lrScheduleSection, "warmup_lr_init", "1.e-5", "1.e-6"},
    {lrScheduleSection, "warmup_steps", "1", "2"},
    {lrScheduleSection, "warmup_ratio", "0.1", "0.2"},
    {lrScheduleSection, "total_steps", "1", "2"},
    {lrScheduleSection, "num_cycles", "1", "2"},
    {lrScheduleSection, "power", "1", "2"},
    {lrScheduleSection, "decay_steps", "1", "2"},
    {lrScheduleSection, "decay_ratio", "0.1", "0.2"},
    {lrScheduleSection, "decay_start_steps", "1", "2"},
    {lrScheduleSection, "decay_start_ratio", "0.1", "0.2"},
    {lrScheduleSection, "base_lr", "1.e-5", "1.e-6"},
    {lrScheduleSection, "t_max", "1", "2"},
    {lrScheduleSection, "t_0", "1", "2"},
    {lrScheduleSection, "t_mult", "1", "2"},
    {lrScheduleSection, "eta_min", "1.e-5", "1.e-6"},

    {contextSection, "max_device_memory", "58GB", "59GB"},
    {contextSection, "enable_graph_kernel", "False", "True"},
    {contextSection, "jit_level", "O0", "O1"},
    {jitConfigSection, "jit_level", "O2", "O1"},
    {contextSection, "memory_optimize_level", "O0", "O1", "",
     "swap_config: {swap: True}\n"},

    {balanceCallbackSection, "type", "TopkBiasBalanceCallback", "Other",
     "balance_via_topk_bias: True"},
    {balanceCallbackSection, "balance_via_topk_bias", "True", "False"},
    {balanceCallbackSection, "topk_bias_update_rate", "0.1", "0.2",
     "balance_via_topk_bias: True"},
    {balanceCallbackSection, "expert_num", "2", "4",
     "balance_via_topk_bias: True"},
    {balanceCallbackSection, "micro_batch_num", "2", "4",
     "balance_via_topk_bias: True"},
    {balanceCallbackSection, "gradient_accumulation_steps", "2", "4",
     "balance_via_topk_bias: True"},
    {dropRateCallbackSection, "type", "MoEDropRateCallback", "Other",
     "expert_num: 4, capacity_factor: 1.0, num_layers: 2, mtp_depth: 0"},
    {dropRateCallbackSection, "expert_num", "4", "8",
     "capacity_factor: 1.0, num_layers: 2, mtp_depth: 0"},
    {dropRateCallbackSection, "capacity_factor", "1.0", "2.0",
     "expert_num: 4, num_layers: 2, mtp_depth: 0"},
    {dropRateCallbackSection, "num_layers", "2", "3",
     "expert_num: 4, capacity_factor: 1.0, mtp_depth: 0"},
    {dropRateCallbackSection, "mtp_depth", "0", "1",
     "expert_num: 4, capacity_factor: 1.0, num_layers: 2"},

    {modelSection, "arch", "LlamaForCausalLM", "Baichuan7BV2ForCausalLM",
     "model_config: {seq_length: 16, hidden_size: 32, num_layers: 4, "
     "num_heads: 4, vocab_size: 64}"},
    {modelSection, "model_config",
     "{seq_length: 16, hidden_size: 32, num_layers: 4, num_heads: 4}",
     "{seq_length: 16, hidden_size: 32, num_layers: 2, num_heads: 4}",
     "arch: LlamaForCausalLM"},

    {topLevel, "use_parallel", "True", "False", "",
     "runner_config: {gradient_accumulation_steps: 2}\n"},
    {topLevel, "callbacks", "[]",
     "[{type: TopkBiasBalanceCallback, balance_via_topk_bias: True}]"},
    {topLevel, "callback", "[]",
     "[{type: TopkBiasBalanceCallback, balance_via_topk_bias: True}]"},
    {topLevel, "use_legacy", "True", "False"},
    {topLevel, "micro_batch_interleave_num", "1", "2"},
    {topLevel, "train_dataset", "{data_loader: {type: MindDataset}}",
     "{data_loader: {type: ADGenDataLoader}}", "",
     TWO_RANKS "parallel: {full_batch: False, dataset_strategy: [[2, 1]]}\n"},

    {moeSection, "expert_num", "4", "8",
     "use_gmm: True, num_experts_chosen: 2"},
    {moeSection, "num_experts_chosen", "2", "3",
     "use_gmm: True, expert_num: 4"},
    {moeSection, "capacity_factor", "1.0", "2.0", CAPACITY},
    {moeSection, "aux_loss_factor", "0.05", "0.1", CAPACITY},
    {moeSection, "aux_loss_factors", "[0.1]", "[0.2]",
     CAPACITY ", aux_loss_types: [expert]", TELECHAT},
    {moeSection, "aux_loss_types", "[expert]", "[comm]",
     CAPACITY ", aux_loss_factors: [0.1]", TELECHAT},
    {moeSection, "z_loss_factor", "0.1", "0.2", CAPACITY, TELECHAT},
    {moeSection, "routing_policy", "TopkRouterV2", "TopkRouterV1", EXPERTS},
    {moeSection, "enable_sdrop", "True", "False", CAPACITY},
    {moeSection, "use_fused_ops_topkrouter", "True", "False",
     CAPACITY ", max_router_load: 1"},
    {moeSection, "use_fused_ops_permute", "True", "False", CAPACITY},
    {moeSection, "shared_expert_num", "1", "2", CAPACITY},
    {moeSection, "use_shared_expert_gating", "True", "False",
     CAPACITY ", shared_expert_num: 1"},
    {moeSection, "router_dense_type", "float32", "bfloat16", CAPACITY},
    {moeSection, "norm_topk_prob", "True", "False", CAPACITY},
    {moeSection, "first_k_dense_replace", "True", "2", CAPACITY},
    {moeSection, "moe_intermediate_size", "1407", "2048", CAPACITY},
    {moeSection, "routed_scaling_factor", "1.5", "2.5", CAPACITY},
    {moeSection, "n_group", "2", "4",
     CAPACITY ", topk_method: group_limited_greedy, topk_group: 1"},
    {moeSection, "topk_group", "1", "2",
     CAPACITY ", topk_method: group_limited_greedy, n_group: 2"},
    {moeSection, "topk_method", "noaux_tc", "greedy",
     CAPACITY ", n_group: 2, topk_group: 1"},
    {moeSection, "balance_via_topk_bias", "True", "False", CAPACITY},
    {moeSection, "topk_bias_update_rate", "0.0", "0.1", CAPACITY},
    {moeSection, "expert_group_size", "2", "4",
     CAPACITY ", aux_loss_types: [device], aux_loss_factors: [0.1]", TELECHAT},
    {moeSection, "expert_model_parallel", "1", "2", CAPACITY,
     "parallel_config: {model_parallel: 2, use_seq_parallel: True}\n"},
    {moeSection, "use_gmm", "True", "False", CAPACITY},
    {moeSection, "use_gating_sigmoid", "True", "False", CAPACITY},
    {moeSection, "enable_gmm_safe_tokens", "True", "False",
     EXPERTS ", use_gmm: True"},
    {moeSection, "callback_moe_droprate", "True", "False",
     CAPACITY ", aux_loss_types: [expert], aux_loss_factors: [0.1]", TELECHAT},
    {moeSection, "comp_comm_parallel", "True", "False",
     CAPACITY ", comp_comm_parallel_degree: 3"},
    {moeSection, "comp_comm_parallel_degree", "3", "5",
     CAPACITY ", comp_comm_parallel: True"},
    {moeSection, "ep_extend_tp", "True", "False", CAPACITY},
    {moeSection, "max_router_load", "8", "64", CAPACITY},
    {moeSection, "enable_deredundency", "True", "False",
     EXPERTS ", use_gmm: True"},
    {moeSection, "npu_nums_per_device", "1", "8", CAPACITY},
};

#undef TWO_RANKS
#undef TWO_STAGES
#undef TWO_CHUNKS
#undef TELECHAT
#undef EXPERTS
#undef CAPACITY

} // namespace mf

#endif // MF_TEST_UNIT_PASSES_KEYTRIALS_H
