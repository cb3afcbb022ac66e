//===- KeyTrials.h - A YAML in which each key matters ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_PASSES_KEYTRIALS_H
#define MF_TEST_UNIT_PASSES_KEYTRIALS_H

#include "mf/Frontend/Config/KnownKeys.h"

namespace mf {

/// A key, and a YAML in which it matters; `%` stands for its value.
struct Trial {
  const KnownSection &section;
  llvm::StringLiteral key;
  llvm::StringLiteral value;
  llvm::StringLiteral otherValue;
  llvm::StringLiteral yaml;
};

inline const Trial trials[] = {
    {recomputeSection, "recompute", "True", "[1]",
     "recompute_config: {recompute: %}"},
    {recomputeSection, "select_recompute", "True", "['add']",
     "recompute_config: {select_recompute: %}"},
    {recomputeSection, "select_comm_recompute", "True", "False",
     "recompute_config: {select_comm_recompute: %}"},
    {recomputeSection, "select_recompute_exclude", "['add']", "[]",
     "recompute_config: {select_recompute_exclude: %}"},
    {recomputeSection, "select_comm_recompute_exclude", "['add']", "[]",
     "recompute_config: {select_comm_recompute_exclude: %}"},
    {recomputeSection, "parallel_optimizer_comm_recompute", "True", "False",
     "recompute_config: {parallel_optimizer_comm_recompute: %}"},
    {recomputeSection, "mp_comm_recompute", "True", "False",
     "recompute_config: {mp_comm_recompute: %}"},
    {recomputeSection, "recompute_slice_activation", "True", "False",
     "recompute_config: {recompute_slice_activation: %}"},

    {swapSection, "swap", "True", "False", "swap_config: {swap: %}"},
    {swapSection, "default_prefetch", "1", "2",
     "swap_config: {swap: True, default_prefetch: %}"},
    {swapSection, "layer_swap", "[{backward_prefetch: 1, layers: [0]}]",
     "[{backward_prefetch: 1, layers: [1]}]",
     "swap_config: {swap: True, layer_swap: %}"},
    {swapSection, "op_swap",
     "[{op_name: add, backward_prefetch: 1, layers: True}]",
     "[{op_name: mul, backward_prefetch: 1, layers: True}]",
     "swap_config: {swap: True, op_swap: %}"},

    {parallelConfigSection, "data_parallel", "1", "2",
     "parallel_config: {data_parallel: %}"},
    {parallelConfigSection, "model_parallel", "1", "2",
     "parallel_config: {model_parallel: %}"},
    {parallelConfigSection, "context_parallel", "1", "2",
     "parallel_config: {context_parallel: %}"},
    {parallelConfigSection, "expert_parallel", "1", "2",
     "parallel_config: {expert_parallel: %}"},
    {parallelConfigSection, "pipeline_stage", "1", "2",
     "parallel_config: {pipeline_stage: %}"},
    {parallelConfigSection, "micro_batch_num", "2", "4",
     "parallel_config: {pipeline_stage: 2, micro_batch_num: %}"},
    {parallelConfigSection, "seq_split_num", "1", "2",
     "parallel_config: {seq_split_num: %}"},
    {parallelConfigSection, "gradient_aggregation_group", "4", "2",
     "parallel_config: {gradient_aggregation_group: %}"},
    {parallelConfigSection, "use_seq_parallel", "True", "False",
     "parallel_config: {model_parallel: 2, use_seq_parallel: %}"},
    {parallelConfigSection, "vocab_emb_dp", "True", "False",
     "parallel_config: {model_parallel: 2, vocab_emb_dp: %}"},
    {parallelConfigSection, "context_parallel_algo", "colossalai_cp",
     "ulysses_cp",
     "parallel_config: {context_parallel: 2, context_parallel_algo: %}"},
    {parallelConfigSection, "ulysses_degree_in_cp", "1", "2",
     "parallel_config: {context_parallel: 4, context_parallel_algo: "
     "hybrid_cp, ulysses_degree_in_cp: %}"},

    {parallelSection, "parallel_mode", "0", "1",
     "parallel: {parallel_mode: %}"},
    {parallelSection, "full_batch", "True", "False",
     "parallel_config: {data_parallel: 2}\n"
     "parallel: {full_batch: %, dataset_strategy: [[2, 1]]}"},
    {parallelSection, "dataset_strategy", "[[2, 1]]", "[[1, 1]]",
     "parallel_config: {data_parallel: 2}\n"
     "parallel: {full_batch: False, dataset_strategy: %}"},
    {parallelSection, "gradients_mean", "True", "False",
     "parallel_config: {data_parallel: 2}\nparallel: {gradients_mean: %}"},
    {parallelSection, "enable_parallel_optimizer", "True", "False",
     "parallel_config: {data_parallel: 2}\n"
     "parallel: {enable_parallel_optimizer: %}"},
    {parallelOptimizerSection, "gradient_accumulation_shard", "True", "False",
     "parallel_config: {data_parallel: 2}\n"
     "parallel: {enable_parallel_optimizer: True, "
     "parallel_optimizer_config: {gradient_accumulation_shard: %}}"},
    {parallelOptimizerSection, "parallel_optimizer_threshold", "64", "32",
     "parallel_config: {data_parallel: 2}\n"
     "parallel: {enable_parallel_optimizer: True, "
     "parallel_optimizer_config: {parallel_optimizer_threshold: %}}"},
    {parallelOptimizerSection, "optimizer_weight_shard_size", "-1", "2",
     "parallel_config: {data_parallel: 2}\n"
     "parallel: {enable_parallel_optimizer: True, "
     "parallel_optimizer_config: {optimizer_weight_shard_size: %}}"},
    {parallelOptimizerSection, "optimizer_level", "level1", "level2",
     "parallel_config: {data_parallel: 2}\n"
     "parallel: {enable_parallel_optimizer: True, "
     "parallel_optimizer_config: {optimizer_level: %}}"},
    // Neither file is there, which a warning says.
    {ascendConfigSection, "parallel_speed_up_json_path", "a.json", "b.json",
     "context: {ascend_config: {parallel_speed_up_json_path: %}}\n"
     "model: {arch: LlamaForCausalLM, model_config: {seq_length: 16, "
     "hidden_size: 32, num_layers: 4, num_heads: 4, pp_interleave_num: 2}}\n"
     "parallel_config: {pipeline_stage: 2, micro_batch_num: 4}\n"
     "parallel: {pipeline_config: {pipeline_interleave: True, "
     "pipeline_scheduler: zero_bubble_v}}"},
    {parallelSection, "device_num", "1", "2", "parallel: {device_num: %}"},
    {pipelineSection, "pipeline_interleave", "True", "False",
     "model: {arch: LlamaForCausalLM, model_config: {seq_length: 16, "
     "hidden_size: 32, num_layers: 4, num_heads: 4, pp_interleave_num: 2}}\n"
     "parallel_config: {pipeline_stage: 2, micro_batch_num: 2}\n"
     "parallel: {pipeline_config: {pipeline_interleave: %}}"},
    {pipelineSection, "pipeline_scheduler", "1f1b", "gpipe",
     "parallel_config: {pipeline_stage: 2, micro_batch_num: 2}\n"
     "parallel: {pipeline_config: {pipeline_scheduler: %}}"},

    {runnerSection, "batch_size", "1", "2", "runner_config: {batch_size: %}"},
    {runnerSection, "gradient_accumulation_steps", "1", "2",
     "runner_config: {gradient_accumulation_steps: %}"},

    {wrapperSection, "type", "MFTrainOneStepCell", "TrainOneStepCell",
     "runner_wrapper: {type: %}"},
    {wrapperSection, "use_clip_grad", "True", "False",
     "runner_wrapper: {use_clip_grad: %}"},
    {wrapperSection, "max_grad_norm", "1.0", "2.0",
     "runner_wrapper: {use_clip_grad: True, max_grad_norm: %}"},
    {wrapperSection, "scale_sense", "1.0", "2.0",
     "runner_wrapper: {scale_sense: %}"},
    {wrapperSection, "local_norm", "True", "False",
     "runner_wrapper: {local_norm: %}"},
    {wrapperSection, "calculate_per_token_loss", "True", "False",
     "runner_wrapper: {calculate_per_token_loss: %}"},
    {wrapperSection, "use_skip_data_by_global_norm", "True", "False",
     "runner_wrapper: {use_skip_data_by_global_norm: %}"},
    {wrapperSection, "global_norm_spike_threshold", "1.0", "2.0",
     "runner_wrapper: {use_skip_data_by_global_norm: True, "
     "global_norm_spike_threshold: %}"},
    {lossScaleSection, "type", "DynamicLossScaleUpdateCell",
     "FixedLossScaleUpdateCell", "runner_wrapper: {scale_sense: {type: %}}"},
    {lossScaleSection, "loss_scale_value", "2", "4",
     "runner_wrapper: {scale_sense: {type: DynamicLossScaleUpdateCell, "
     "loss_scale_value: %}}"},
    {lossScaleSection, "scale_factor", "2", "4",
     "runner_wrapper: {scale_sense: {type: DynamicLossScaleUpdateCell, "
     "scale_factor: %}}"},
    {lossScaleSection, "scale_window", "100", "200",
     "runner_wrapper: {scale_sense: {type: DynamicLossScaleUpdateCell, "
     "scale_window: %}}"},

    {optimizerSection, "type", "AdamW", "AdamWeightDecay",
     "optimizer: {type: %}"},
    {optimizerSection, "betas", "[0.9, 0.95]", "[0.8, 0.95]",
     "optimizer: {betas: %}"},
    {optimizerSection, "beta1", "0.9", "0.8", "optimizer: {beta1: %}"},
    {optimizerSection, "beta2", "0.9", "0.8", "optimizer: {beta2: %}"},
    {optimizerSection, "eps", "1.e-5", "1.e-6", "optimizer: {eps: %}"},
    {optimizerSection, "weight_decay", "0.0", "0.1",
     "optimizer: {weight_decay: %}"},
    {optimizerSection, "learning_rate", "1.e-5", "1.e-6",
     "lr_schedule: {learning_rate: 1.e-5}\noptimizer: {learning_rate: %}"},
    {optimizerSection, "swap", "True", "False", "optimizer: {swap: %}"},
    {optimizerSection, "fused_num", "5", "6",
     "optimizer: {type: PmaAdamW, fused_num: %}"},
    {optimizerSection, "interleave_step", "5", "6",
     "optimizer: {type: PmaAdamW, interleave_step: %}"},
    {optimizerSection, "fused_algo", "ema", "sma",
     "optimizer: {type: PmaAdamW, fused_algo: %}"},
    {optimizerSection, "ema_alpha", "0.1", "0.2",
     "optimizer: {type: PmaAdamW, ema_alpha: %}"},
    {optimizerSection, "momentum", "0.9", "0.8",
     "optimizer: {type: Muon, momentum: %}"},
    {optimizerSection, "nesterov", "True", "False",
     "optimizer: {type: Muon, nesterov: %}"},
    {optimizerSection, "matched_adamw_rms", "0.1", "0.2",
     "optimizer: {type: Muon, matched_adamw_rms: %}"},
    {optimizerSection, "ns_steps", "3", "4",
     "optimizer: {type: Muon, ns_steps: %}"},
    {optimizerSection, "ns_coefficients", "[3, -4, 2]", "[[[3, -4, 2], 1]]",
     "optimizer: {type: Muon, ns_coefficients: %}"},
    {optimizerSection, "adamw_betas", "[0.9, 0.95]", "[0.8, 0.95]",
     "optimizer: {type: Muon, adamw_betas: %}"},
    {optimizerSection, "adamw_eps", "1.e-5", "1.e-6",
     "optimizer: {type: Muon, adamw_eps: %}"},
    {optimizerSection, "adamw_include", "[head]", "[table]",
     "optimizer: {type: Muon, adamw_include: %}"},
    {optimizerSection, "comm_strategy", "allgather", "allgather_deredundency",
     "optimizer: {type: Muon, comm_strategy: %}"},
    {optimizerSection, "qk_clip_enabled", "True", "False",
     "optimizer: {type: Muon, qk_clip_enabled: %}"},
    {optimizerSection, "qk_clip_threshold", "3", "4",
     "optimizer: {type: Muon, qk_clip_threshold: %}"},
    {optimizerSection, "micro_batch_num", "2", "3",
     "optimizer: {type: Muon, micro_batch_num: %}"},

    {optimizerSection, "scale_parameter", "True", "False",
     "optimizer: {type: Came, scale_parameter: %}"},
    {optimizerSection, "relative_step", "True", "False",
     "optimizer: {type: Came, relative_step: %}"},
    {optimizerSection, "warmup_init", "True", "False",
     "optimizer: {type: Came, warmup_init: %}"},
    {optimizerSection, "compression", "True", "False",
     "optimizer: {type: Came, compression: %}"},
    {optimizerSection, "clip_threshold", "1.5", "0.5",
     "optimizer: {type: Came, clip_threshold: %}"},
    {optimizerSection, "decay_rate", "0.7", "0.6",
     "optimizer: {type: Came, decay_rate: %}"},
    {optimizerSection, "beta3", "0.9", "0.8",
     "optimizer: {type: Came, beta3: %}"},
    {groupedLrSection, "default", "{learning_rate: 1.e-5}",
     "{learning_rate: 1.e-6}", "grouped_lr_schedule: {default: %}"},
    {groupedLrSection, "grouped", "[{params: [norm], learning_rate: 1.e-5}]",
     "[{params: [norm], learning_rate: 1.e-6}]",
     "grouped_lr_schedule: {default: {learning_rate: 1.e-5}, grouped: %}"},
    {lrScheduleSection, "type", "cosine", "linear", "lr_schedule: {type: %}"},
    {lrScheduleSection, "learning_rate", "1.e-5", "1.e-6",
     "lr_schedule: {learning_rate: %}"},
    {lrScheduleSection, "lr_end", "1.e-5", "1.e-6", "lr_schedule: {lr_end: %}"},
    {lrScheduleSection, "warmup_lr_init", "1.e-5", "1.e-6",
     "lr_schedule: {warmup_lr_init: %}"},
    {lrScheduleSection, "warmup_steps", "1", "2",
     "lr_schedule: {warmup_steps: %}"},
    {lrScheduleSection, "warmup_ratio", "0.1", "0.2",
     "lr_schedule: {warmup_ratio: %}"},
    {lrScheduleSection, "total_steps", "1", "2",
     "lr_schedule: {total_steps: %}"},
    {lrScheduleSection, "num_cycles", "1", "2", "lr_schedule: {num_cycles: %}"},
    {lrScheduleSection, "power", "1", "2", "lr_schedule: {power: %}"},
    {lrScheduleSection, "decay_steps", "1", "2",
     "lr_schedule: {decay_steps: %}"},
    {lrScheduleSection, "decay_ratio", "0.1", "0.2",
     "lr_schedule: {decay_ratio: %}"},
    {lrScheduleSection, "decay_start_steps", "1", "2",
     "lr_schedule: {decay_start_steps: %}"},
    {lrScheduleSection, "decay_start_ratio", "0.1", "0.2",
     "lr_schedule: {decay_start_ratio: %}"},
    {lrScheduleSection, "base_lr", "1.e-5", "1.e-6",
     "lr_schedule: {base_lr: %}"},
    {lrScheduleSection, "t_max", "1", "2", "lr_schedule: {t_max: %}"},
    {lrScheduleSection, "t_0", "1", "2", "lr_schedule: {t_0: %}"},
    {lrScheduleSection, "t_mult", "1", "2", "lr_schedule: {t_mult: %}"},
    {lrScheduleSection, "eta_min", "1.e-5", "1.e-6",
     "lr_schedule: {eta_min: %}"},

    {contextSection, "max_device_memory", "58GB", "59GB",
     "context: {max_device_memory: %}"},
    {contextSection, "enable_graph_kernel", "False", "True",
     "context: {enable_graph_kernel: %}"},
    {contextSection, "jit_level", "O0", "O1", "context: {jit_level: %}"},
    {jitConfigSection, "jit_level", "O2", "O1",
     "context: {jit_config: {jit_level: %}}"},
    {contextSection, "memory_optimize_level", "O0", "O1",
     "swap_config: {swap: True}\ncontext: {memory_optimize_level: %}"},

    {balanceCallbackSection, "type", "TopkBiasBalanceCallback", "Other",
     "callbacks: [{type: %, balance_via_topk_bias: True}]"},
    {balanceCallbackSection, "balance_via_topk_bias", "True", "False",
     "callbacks: [{type: TopkBiasBalanceCallback, balance_via_topk_bias: %}]"},
    {balanceCallbackSection, "topk_bias_update_rate", "0.1", "0.2",
     "callbacks: [{type: TopkBiasBalanceCallback, balance_via_topk_bias: True, "
     "topk_bias_update_rate: %}]"},
    {balanceCallbackSection, "expert_num", "2", "4",
     "callbacks: [{type: TopkBiasBalanceCallback, balance_via_topk_bias: True, "
     "expert_num: %}]"},
    {balanceCallbackSection, "micro_batch_num", "2", "4",
     "callbacks: [{type: TopkBiasBalanceCallback, balance_via_topk_bias: True, "
     "micro_batch_num: %}]"},
    {balanceCallbackSection, "gradient_accumulation_steps", "2", "4",
     "callbacks: [{type: TopkBiasBalanceCallback, balance_via_topk_bias: True, "
     "gradient_accumulation_steps: %}]"},
    {dropRateCallbackSection, "type", "MoEDropRateCallback", "Other",
     "callbacks: [{type: %, expert_num: 4, capacity_factor: 1.0, num_layers: 2,"
     " mtp_depth: 0}]"},
    {dropRateCallbackSection, "expert_num", "4", "8",
     "callbacks: [{type: MoEDropRateCallback, expert_num: %, capacity_factor: "
     "1.0, num_layers: 2, mtp_depth: 0}]"},
    {dropRateCallbackSection, "capacity_factor", "1.0", "2.0",
     "callbacks: [{type: MoEDropRateCallback, expert_num: 4, capacity_factor: "
     "%, num_layers: 2, mtp_depth: 0}]"},
    {dropRateCallbackSection, "num_layers", "2", "3",
     "callbacks: [{type: MoEDropRateCallback, expert_num: 4, capacity_factor: "
     "1.0, num_layers: %, mtp_depth: 0}]"},
    {dropRateCallbackSection, "mtp_depth", "0", "1",
     "callbacks: [{type: MoEDropRateCallback, expert_num: 4, capacity_factor: "
     "1.0, num_layers: 2, mtp_depth: %}]"},

    {modelSection, "arch", "LlamaForCausalLM", "Baichuan7BV2ForCausalLM",
     "model: {arch: %, model_config: {seq_length: 16, hidden_size: 32, "
     "num_layers: 4, num_heads: 4, vocab_size: 64}}"},
    {modelSection, "model_config",
     "{seq_length: 16, hidden_size: 32, num_layers: 4, num_heads: 4}",
     "{seq_length: 16, hidden_size: 32, num_layers: 2, num_heads: 4}",
     "model: {arch: LlamaForCausalLM, model_config: %}"},

    {topLevel, "use_parallel", "True", "False",
     "runner_config: {gradient_accumulation_steps: 2}\nuse_parallel: %"},
    {topLevel, "callbacks", "[]",
     "[{type: TopkBiasBalanceCallback, balance_via_topk_bias: True}]",
     "callbacks: %"},
    {topLevel, "callback", "[]",
     "[{type: TopkBiasBalanceCallback, balance_via_topk_bias: True}]",
     "callback: %"},
    {topLevel, "use_legacy", "True", "False", "use_legacy: %"},
    {topLevel, "micro_batch_interleave_num", "1", "2",
     "micro_batch_interleave_num: %"},
    {topLevel, "train_dataset", "{data_loader: {type: MindDataset}}",
     "{data_loader: {type: ADGenDataLoader}}",
     "parallel_config: {data_parallel: 2}\n"
     "parallel: {full_batch: False, dataset_strategy: [[2, 1]]}\n"
     "train_dataset: %"},
};

} // namespace mf

#endif // MF_TEST_UNIT_PASSES_KEYTRIALS_H
