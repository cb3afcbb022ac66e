# SPDX-License-Identifier: Apache-2.0
"""Times the lowering of DeepSeek-V4 in two sizes, beside the published YAML of DeepSeek-V3.

usage: deepseek4_time.py [BIN_FOLDER [REPEATS]]

"V4 large" has the sizes that the class has by default, on 1,024 ranks of 16 stages, and "V4 small" those of the published YAMLs
with 43 layers of 256 experts, on 256 ranks of 8 stages. Their optimizer is Muon, as published, whose iterations multiply
matrices of each parameter; "AdamW" has the optimizer of DeepSeek-V3's YAML in its place. All layers are recomputed.
Seconds are processor time of whole runs of mf-opt without a limit on memory, parsing, proofs and printing included, the
least of several runs.
"""

import os
import resource
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DEEPSEEK3 = ROOT + "/test/data/mindformers/yamls/pretrain_deepseek3_671b.yaml"
YAML = """
training: {{local_batch_size: 1, global_batch_size: {samples}, max_norm: 1.0}}
optimizer: {{type: {optimizer}, weight_decay: 0.1}}
lr_scheduler: {{type: ConstantWarmUpLR, learning_rate: 1.0e-05, warmup_ratio: 0}}
parallelism:
  data_parallel_shard: {replicas}
  expert_parallel: {experts_over}
  pipeline_parallel: {stages}
  pipeline_parallel_layers_per_stage: {layers_of_stages}
recompute: {{mode: full, full_recompute_layer: ['0-{layers}']}}
train_dataset: {{dataloader: {{type: MindDataset}}}}
model:
  model_type: deepseek_v4
  architectures: DeepseekV4ForCausalLM
  hidden_size: {hidden}
  num_hidden_layers: {layers}
  num_attention_heads: {heads}
  q_lora_rank: {rank}
  o_groups: {groups}
  v_head_dim: 512
  moe_intermediate_size: {width}
  n_routed_experts: {experts}
  index_topk: {chosen}
  compress_ratios: {ratios}
  mtp_loss_factor: 0.3
  dsa_indexer_loss_coeff: 0.001
  moe_aux_loss_coeff: 0.001
  moe_router_load_balancing_type: seq_aux_loss
  params_dtype: bfloat16
  use_fused_mhc: True
"""
LARGE = dict(ranks=1024, stages=16, experts_over=64, micro_batches=32, layers=61, hidden=7168, heads=128, rank=1536,
             groups=16, width=3072, experts=384, chosen=1024)  # fmt: skip
SMALL = dict(ranks=256, stages=8, experts_over=32, micro_batches=16, layers=43, hidden=4096, heads=64, rank=1024,
             groups=8, width=2048, experts=256, chosen=512)  # fmt: skip
SIZES = {
    "V4 large": dict(LARGE, optimizer="Muon"),
    "V4 large AdamW": dict(LARGE, optimizer="AdamW"),
    "V4 small": dict(SMALL, optimizer="Muon"),
}


def make_yaml(size):
    """The YAML of a size. Layers of ratios 4 and 128 take turns behind two of ratio 128; the first stages have a layer more."""
    layers, stages = size["layers"], size["stages"]
    bounds = [layers // stages * s + min(s, layers % stages) for s in range(stages + 1)]
    replicas = size["ranks"] // stages
    return YAML.format(
        **size, replicas=replicas, samples=replicas * size["micro_batches"],
        layers_of_stages=["%d-%d" % (first, next - 1) for first, next in zip(bounds, bounds[1:])],
        ratios=[128, 128] + [4, 128] * ((layers - 2) // 2) + [4] * (layers % 2) + [0],
    )  # fmt: skip


def measure(command, **environment):
    """Processor seconds of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, env=dict(os.environ, **environment))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else ROOT + "/build/bin"
    repeats = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    print("%-15s%8s%8s%10s%14s%12s" % ("model", "ranks", "stages", "mf-opt s", "megabytes", "s/megabyte"))
    with tempfile.TemporaryDirectory() as work:
        for name in ("V3", *SIZES):
            yaml, model, step = DEEPSEEK3, *(os.path.join(work, end) for end in ("model.mlir", "step.mlir"))
            size, environment = dict(ranks=1024, stages=16), {}
            if name in SIZES:
                yaml, size = os.path.join(work, "step.yaml"), SIZES[name]
                environment = {"RANK_SIZE": str(size["ranks"])}
                with open(yaml, "w") as file:
                    file.write(make_yaml(size))
            measure([folder + "/mf-translate", "--import-mindformers", yaml, "-o", model], **environment)
            command = [folder + "/mf-opt", "--quiet", "--hbm=none", "--recompute-config=" + yaml, model, "-o", step]
            seconds = min(measure(command, **environment) for _ in range(repeats))
            megabytes = os.path.getsize(step) / 1e6
            row = (name, size["ranks"], size["stages"], seconds, megabytes, seconds / megabytes)
            print("%-15s%8d%8d%10.1f%14.1f%12.3f" % row)


if __name__ == "__main__":
    main()
