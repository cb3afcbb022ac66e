# SPDX-License-Identifier: Apache-2.0
"""Compares steps whose parameters ranks share out one by one (FSDP, HSDP) with those of one rank.

usage: fully_sharded.py BIN_FOLDER WORK_FOLDER MODEL

The YAML is one of the dynamic graph. Losses and parameters must be those of one rank to a relative
2e-5, recompute and the policy of gathers must change no bit where they add nothing in another
order, and each rank needs as much memory as was planned.
"""

import os
import sys

import safetensors
import training

BOUND = 2e-5
STEPS = 3
COMMON = (
    "hidden_dropout: 0.0, attention_dropout: 0.0, vocab_size: 256, seq_length: 16, hidden_size: 32, "
    "intermediate_size: 64, num_hidden_layers: 2, num_attention_heads: 4, params_dtype: float32, "
    "compute_dtype: float32, layernorm_compute_dtype: float32, softmax_compute_dtype: float32, "
    "rotary_dtype: float32, rms_norm_eps: 1.e-6, use_flash_attention: True"
)
MODELS = {
    "qwen3": "{model_type: qwen3, architectures: Qwen3ForCausalLM, num_key_value_heads: 4, head_dim: 8, " + COMMON + "}",
    "deepseek": "{model_type: deepseek_v3, architectures: DeepseekV3ForCausalLM, num_key_value_heads: 4, "
    "multi_latent_attention: True, q_lora_rank: 16, kv_lora_rank: 8, qk_nope_head_dim: 8, qk_rope_head_dim: 8, "
    "v_head_dim: 8, n_routed_experts: 8, num_experts_per_tok: 2, n_group: 1, topk_group: 1, n_shared_experts: 1, moe_intermediate_size: 16, "
    "moe_shared_expert_intermediate_size: 16, first_k_dense_replace: 1, num_nextn_predict_layers: 0, "
    "moe_router_load_balancing_type: seq_aux_loss, moe_aux_loss_coeff: 0.0, " + COMMON + "}",
}  # fmt: skip
YAML = """training: {steps: 3, local_batch_size: 1, global_batch_size: 8, max_norm: 0.5}
parallelism: {%(parallelism)s}
optimizer: {type: AdamW, weight_decay: 0.1}
lr_scheduler: {type: ConstantWarmUpLR, learning_rate: 1.e-3, warmup_ratio: 0}
%(memory)s
train_dataset: {dataloader: {type: BlendedMegatronDatasetDataLoader}}
model: %(model)s
"""
PLAIN = "recompute: {mode: 'None'}"
# Settings that change no bit.
MEMORY = {
    "recomputed": "recompute: {mode: full, full_recompute_layer: ['0-1']}",
    "swapped": PLAIN + "\nswap: {enable: True, layer_swap: [{layers: ['0']}]}",
}
# Ranks, parallelism and what else must have the same bits.
CASES = {
    "qwen3": [
        (2, "", ["reshard_after_forward_policy: always", "reshard_after_forward_policy: never"]),
        (4, "data_parallel_shard: 2", ["reshard_after_forward_policy: never"]),
        (8, "data_parallel_shard: 2, tensor_parallel: 2, sequence_parallel: True", []),
        (8, "data_parallel_shard: 4, dense_fsdp_shard_size: 2", []),
    ],
    "deepseek": [
        (2, "", ["reshard_after_forward_policy: never"]),
        (4, "data_parallel_shard: 2, expert_parallel: 2", []),
        (4, "data_parallel_shard: 2, pipeline_parallel: 2, pipeline_parallel_layers_per_stage: auto", []),
    ],
}  # fmt: skip


def run(tools, name, model, ranks, parallelism="", memory=PLAIN, values=None):
    """The report and the parameters behind the last step, whose memory is as planned."""
    os.environ["RANK_SIZE"] = str(ranks)
    yaml, mlir, step, saved = (tools.path(name + e) for e in (".yaml", ".mlir", ".step.mlir", ".safetensors"))
    with open(yaml, "w") as file:
        file.write(YAML % dict(parallelism=parallelism, memory=memory, model=MODELS[model]))
    tools.run("mf-translate", "--import-mindformers", yaml, "-o", mlir)
    tools.run("mf-opt", "--quiet", "--recompute-config=" + yaml, mlir, "-o", step)
    weights = tools.path("weights.safetensors")
    if values is None:
        safetensors.save(weights, training.random_parameters(tools.parameters(mlir)))
    report = tools.train(step, tools.path("text.txt"), STEPS, weights, extra=["--save-params", saved, "--debug-memory"])
    for rank in report["ranks"]:
        if rank["peak_bytes"] != rank["planned_bytes"]:
            sys.exit("error: %s needs %d bytes, %d are planned" % (name, rank["peak_bytes"], rank["planned_bytes"]))
    return report, safetensors.load(saved)


def compare(name, ours, expected, bound):
    loss = max(abs(a - b) / b for a, b in zip(ours[0]["losses"], expected[0]["losses"]))
    worst = max(training.get_difference(ours[1][key], value) for key, value in expected[1].items())
    print("%s: loss %.1e, parameters %.1e" % (name, loss, worst), flush=True)
    if loss > bound or worst > bound:
        sys.exit("error: beyond %g" % bound)


def main():
    tools, model = training.Tools(sys.argv[1], sys.argv[2]), sys.argv[3]
    training.start_drawing(tools.path("text.txt"), 1)
    one = run(tools, "one", model, 1)
    for ranks, parallelism, policies in CASES[model]:
        name = "%d ranks %s" % (ranks, parallelism)
        plain = run(tools, "plain", model, ranks, parallelism, values=True)
        compare(name, plain, one, BOUND)
        for policy in policies:
            other = run(tools, "other", model, ranks, ", ".join(filter(None, [parallelism, policy])), values=True)
            compare(name + ", " + policy, other, plain, 0)
        for setting, memory in MEMORY.items():
            again = run(tools, "again", model, ranks, parallelism, memory, values=True)
            compare(name + ", " + setting, again, plain, 0)


if __name__ == "__main__":
    main()
