# SPDX-License-Identifier: Apache-2.0
"""Checks what mf counts for the trainer on drawn YAMLs of the dynamic graph.

usage: trainer_memory.py [--seed N] [--count N] [--first N] [--verbose] BIN_FOLDER WORK_FOLDER

Draws models of the DeepSeek-V3 class with and without experts, on up to 16 ranks,
and lowers each several times. These things hold:

- more recomputed layers never raise what the trainer holds, in an order of layers
  from the first. With stages, what layers compute again stays until the backward of
  the chunk has ended: more layers raise it at most by what they kept;
- half of the sequence never raises it;
- twice the ranks that shard weights never raise it;
- more layers never lower it;
- the trainer's bytes are never below those of weights and states, and its parts add
  up to them.
"""

import json
import os

import training
from drawn_cases import DrawnCases

TEMPLATE = """
training: {{steps: 3, local_batch_size: {batch}, global_batch_size: {samples}}}
optimizer: {{type: AdamW, betas: [0.9, 0.95], eps: 1.0e-8, weight_decay: 0.01}}
lr_scheduler: {{type: ConstantWarmUpLR, learning_rate: 1.e-5, warmup_ratio: 0}}
parallelism: {{data_parallel_shard: -1, expert_parallel: {ep}, tensor_parallel: {tp}, context_parallel: 1, pipeline_parallel: {pp},
  pipeline_parallel_schedule: 1f1b, pipeline_parallel_layers_per_stage: auto, sequence_parallel: True}}
recompute: {recompute}
train_dataset: {{dataloader: {{type: BlendedMegatronDatasetDataLoader, column_names: [input_ids, labels, loss_mask, position_ids]}}}}
context: {{mode: 1, device_target: Ascend, max_device_memory: 500GB}}
model: {{model_type: deepseek_v3, architectures: DeepseekV3ForCausalLM, vocab_size: {vocabulary}, seq_length: {sequence}, hidden_size: {hidden},
  intermediate_size: {wide}, num_hidden_layers: {layers}, num_attention_heads: 8, hidden_act: {activation}, rms_norm_eps: 1.0e-6,
  use_flash_attention: True, use_attn_mask_compression: {compressed}, multi_latent_attention: True, kv_lora_rank: 64, q_lora_rank: 128,
  qk_rope_head_dim: 16, qk_nope_head_dim: 32, v_head_dim: 48, params_dtype: float32, compute_dtype: bfloat16, hidden_dropout: 0.0,
  attention_dropout: 0.0, gated_linear_unit: True, moe_intermediate_size: 128, first_k_dense_replace: {dense}, n_routed_experts: 8,
  num_experts_per_tok: 2, n_group: 4, topk_group: 2, n_shared_experts: 1, moe_shared_expert_intermediate_size: 128, num_nextn_predict_layers: 0, initializer_range: 0.01}}
"""


class Case:
    """A drawn YAML and the number of its ranks."""

    def __init__(self, **sizes):
        self.sizes = sizes

    def change(self, **sizes):
        return Case(**{**self.sizes, **sizes})

    def get_yaml(self):
        recomputed = self.sizes["recomputed"]
        recompute = '{mode: full, full_recompute_layer: ["0-%d"]}' % (recomputed - 1) if recomputed else '{mode: "None"}'
        replicas = self.sizes["ranks"] // (self.sizes["tp"] * self.sizes["pp"])
        samples = replicas * self.sizes["batch"] * self.sizes["micro_batches"]
        return TEMPLATE.format(recompute=recompute, samples=samples, **self.sizes)

    def lower(self, tools):
        """The stages of the step as mf-opt reports them."""
        path, model, report = (tools.path(name) for name in ("case.yaml", "case.mlir", "case.json"))
        with open(path, "w") as file:
            file.write(self.get_yaml())
        os.environ["RANK_SIZE"] = str(self.sizes["ranks"])
        tools.run("mf-translate", "--import-mindformers", path, "-o", model)
        tools.run(
            "mf-opt", "--quiet", "--verify=false", "--hbm=none", "--json=" + report, "--recompute-config=" + path, model, "-o", os.devnull
        )  # fmt: skip
        with open(report) as file:
            return next(json.loads(line)["stages"] for line in file if '"stages"' in line)

    def __str__(self):
        return self.get_yaml()


def draw(number, generator):
    tp, pp = generator.choice((1, 1, 2)), generator.choice((1, 1, 2))
    layers = pp * generator.choice((1, 2, 3))
    experts = generator.random() < 0.5
    return Case(
        batch=generator.choice((1, 2)),
        micro_batches=pp * generator.choice((1, 2)),
        ep=generator.choice((1, 2)) if experts else 1,
        tp=tp,
        pp=pp,
        # Experts are only sharded over ranks that divide them.
        ranks=tp * pp * (2 if experts else generator.choice((2, 4))),
        vocabulary=generator.choice((1024, 32768)),
        sequence=generator.choice((512, 2048)),
        hidden=generator.choice((256, 512)),
        wide=generator.choice((512, 1024)),
        layers=layers,
        activation=generator.choice(("silu", "fusedswiglu")),
        compressed=generator.choice(("True", "False")),
        dense=1 if experts else layers,
        recomputed=0,
    )


def get_bytes(stages):
    return [stage["trainer_live_bytes"] for stage in stages]


def check(tools, case):
    """The problems of a case."""
    given = case.lower(tools)
    for stage in given:
        if sum(stage["trainer_parts"].values()) != stage["trainer_live_bytes"]:
            yield "the parts of stage %d do not add up" % stage["stage"]
        if stage["trainer_live_bytes"] < stage["statics"].get("parameter", 0):
            yield "stage %d holds less than its weights" % stage["stage"]
    variants = (
        ("all layers recomputed", case.change(recomputed=case.sizes["layers"])),
        ("one layer recomputed", case.change(recomputed=1)),
        ("half of the sequence", case.change(sequence=case.sizes["sequence"] // 2)),
        ("twice the ranks", case.change(ranks=2 * case.sizes["ranks"])),
    )
    for name, variant in variants:
        for before, after in zip(given, variant.lower(tools)):
            rise = after["trainer_live_bytes"] - before["trainer_live_bytes"]
            allowed = after["trainer_parts"]["kept"] if case.sizes["pp"] > 1 and "recomputed" in name else 0
            if rise > allowed:
                yield "%s raises stage %d by %d bytes to %d" % (name, after["stage"], rise, after["trainer_live_bytes"])
    more = case.change(layers=2 * case.sizes["layers"], dense=case.sizes["dense"] if case.sizes["dense"] == 1 else 2 * case.sizes["layers"])
    for number, (before, after) in enumerate(zip(get_bytes(given), get_bytes(more.lower(tools)))):
        if after < before:
            yield "twice the layers lower stage %d from %d to %d bytes" % (number, before, after)


def main():
    cases = DrawnCases()
    arguments = cases.parse()
    tools = training.Tools(arguments.bin, arguments.work)
    print("%d cases, %d problems" % cases.run(draw, lambda case, _: check(tools, case)))


if __name__ == "__main__":
    main()
