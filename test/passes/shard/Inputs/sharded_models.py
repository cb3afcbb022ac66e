# SPDX-License-Identifier: Apache-2.0
"""Compares small models on several ranks with the same on one.

usage: sharded_models.py [--part=K/N] BIN_FOLDER WORK_FOLDER

Writes a YAML per family and layout, imports it and reads it, and runs what each
sharding pass and autodiff make of it against the model of one rank: losses and
gradients must be the same to a relative 1e-5.
"""

import collections
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "..", "e2e"))
import parts

ROWS = 4  # of a micro-batch, over all replicas

TYPES = {
    "compute_dtype": "float32", "param_init_type": "float32", "softmax_compute_type": "float32",
    "layernorm_compute_type": "float32", "rotary_dtype": "float32",
}  # fmt: skip

LLAMA = {
    "type": "LlamaConfig", "seq_length": 16, "hidden_size": 32, "intermediate_size": 48, "vocab_size": 64,
    "num_layers": 2, "num_heads": 4, "n_kv_heads": 4, "use_flash_attention": True, "pad_token_id": -1,
}  # fmt: skip

CHATGLM = {
    "type": "ChatGLM2Config", "seq_length": 16, "hidden_size": 32, "ffn_hidden_size": 48, "padded_vocab_size": 64,
    "num_layers": 2, "num_attention_heads": 8, "kv_channels": 8, "multi_query_group_num": 2,
    "use_flash_attention": True, "pad_token_id": -1,
}  # fmt: skip

QWEN3 = {
    "model_type": "qwen3", "seq_length": 16, "hidden_size": 32, "intermediate_size": 48, "vocab_size": 64,
    "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 8, "pad_token_id": -1,
    "params_dtype": "float32",
}  # fmt: skip

CONCATENATED = {"qkv_concat": True, "qkv_has_bias": True, "num_heads": 8}

# The middle layer takes and gives blocks.
BLOCKS = {"num_layers": 3, "fine_grain_interleave": 2}

FAMILIES = {
    "llama": ("LlamaForCausalLM", LLAMA),
    "concatenated": ("LlamaForCausalLM", {**LLAMA, **CONCATENATED}),
    "llama-blocks": ("LlamaForCausalLM", {**LLAMA, **BLOCKS}),
    "concatenated-blocks": ("LlamaForCausalLM", {**LLAMA, **CONCATENATED, **BLOCKS, "fine_grain_interleave": 4}),
    "telechat-blocks": ("TelechatForCausalLM", {**LLAMA, "type": "TelechatConfig", "num_heads": 8, **BLOCKS}),
    "tied": ("LlamaForCausalLM", {**LLAMA, "tie_word_embeddings": True}),
    "scores": ("LlamaForCausalLM", {**LLAMA, "n_kv_heads": 2, "use_flash_attention": False}),
    "baichuan": ("Baichuan13BV2ForCausalLM", LLAMA),
    "telechat": ("TelechatForCausalLM", {**LLAMA, "type": "TelechatConfig", "num_heads": 8}),
    "chatglm": ("ChatGLM2ForConditionalGeneration", CHATGLM),
    "tied-chatglm": ("ChatGLM2ForConditionalGeneration", {**CHATGLM, "tie_word_embeddings": True}),
    "separate-chatglm": ("ChatGLM2ForConditionalGeneration", {**CHATGLM, "qkv_concat": False, "mlp_concat": False}),
    "qwen3": (None, QWEN3),
}

DP, MP, SP, CP = "data_parallel", "model_parallel", "use_seq_parallel", "context_parallel"
ULYSSES = {"context_parallel_algo": "ulysses_cp"}
HYBRID = {"context_parallel_algo": "hybrid_cp", "ulysses_degree_in_cp": 2}
TABLE = {"vocab_emb_dp": False}

# One layer's collectives in forward and in backward, where all see the same; views and local parts are none.
TENSOR = ({"all_reduce": 2},) * 2
SEQUENCE = ({"all_gather": 2, "reduce_scatter": 2},) * 2
# With fine_grain_interleave as many times as many.
SEQUENCE_BLOCKS = ({"all_gather": 4, "reduce_scatter": 4},) * 2

LAYOUTS = [
    ("llama", {MP: 2}, TENSOR),
    ("llama", {MP: 2, **TABLE}, TENSOR),
    ("llama", {MP: 2, SP: True, **TABLE}, SEQUENCE),
    ("llama", {DP: 2}, ({}, {})),
    ("llama", {DP: 2, MP: 2, SP: True, **TABLE}, SEQUENCE),
    ("llama", {CP: 2}, ({"all_gather": 2}, {"reduce_scatter": 2})),
    ("llama", {CP: 2, **ULYSSES}, ({"all_to_all": 4},) * 2),
    ("llama", {CP: 2, MP: 2, SP: True, **TABLE}, None),
    ("llama", {CP: 4, **HYBRID}, ({"all_to_all": 4, "all_gather": 2}, {"all_to_all": 4, "reduce_scatter": 2})),
    ("llama", {DP: 2, CP: 2, MP: 2, **TABLE}, None),
    ("llama", {DP: 2, CP: 2, MP: 2, SP: True, **TABLE}, None),
    ("llama-blocks", {MP: 2, SP: True, **TABLE}, SEQUENCE_BLOCKS),
    ("llama-blocks", {DP: 2, MP: 2, SP: True}, SEQUENCE_BLOCKS),
    ("llama-blocks", {MP: 4, SP: True, "interleave": 2, **TABLE}, None),
    ("llama-blocks", {CP: 2, MP: 2, **TABLE}, None),
    ("llama-blocks", {CP: 2, MP: 2, SP: True, **TABLE}, None),
    ("llama-blocks", {CP: 4, MP: 2, SP: True, **HYBRID, **TABLE}, None),
    ("concatenated-blocks", {DP: 2, MP: 2, SP: True, **TABLE}, ({"all_gather": 8, "reduce_scatter": 8},) * 2),
    ("telechat-blocks", {MP: 2, SP: True, **TABLE}, SEQUENCE_BLOCKS),
    ("llama", {DP: 2, "interleave": 2}, None),
    ("llama", {MP: 2, SP: True, "interleave": 2, **TABLE}, None),
    ("concatenated", {MP: 4, **TABLE}, TENSOR),
    ("concatenated", {DP: 2, MP: 2, SP: True, **TABLE}, SEQUENCE),
    ("tied", {MP: 2, **TABLE}, TENSOR),
    ("tied", {CP: 2, MP: 2, **TABLE}, None),
    ("tied-chatglm", {MP: 2, SP: True, "vocab_emb_dp": True}, None),
    ("scores", {MP: 2, **TABLE}, TENSOR),
    ("baichuan", {MP: 2, SP: True, **TABLE}, SEQUENCE),
    ("baichuan", {CP: 2, MP: 2, **TABLE}, None),
    ("telechat", {MP: 4, **TABLE}, TENSOR),
    ("telechat", {DP: 2, MP: 2, SP: True, **TABLE}, SEQUENCE),
    ("chatglm", {DP: 2, MP: 2, **TABLE}, TENSOR),
    ("chatglm", {MP: 4, **TABLE}, None),
    ("separate-chatglm", {MP: 4, **TABLE}, None),
    ("separate-chatglm", {DP: 2, MP: 4, SP: True, **TABLE}, None),
    ("qwen3", {MP: 4}, TENSOR),
    ("qwen3", {DP: 2, MP: 2, SP: True}, SEQUENCE),
]  # fmt: skip

NORM_OUT = ({"all_gather": 1}, {"reduce_scatter": 1})


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True)
    return result.returncode, result.stdout, result.stderr


class Models:
    def __init__(self, bin_folder, work):
        self.bin, self.work = bin_folder, work
        self.whole = set()

    def path(self, name):
        return os.path.join(self.work, name)

    def check(self, tool, *arguments):
        status, output, errors = run(os.path.join(self.bin, tool), *arguments)
        if status != 0:
            sys.exit("%s %s: %s%s" % (tool, " ".join(arguments), output, errors))

    def make(self, name, family, layout):
        """Imports a family for `layout`; what is written is valid JSON, and so YAML."""
        layout = dict(layout)
        copies = layout.pop("interleave", 1)
        architecture, config = FAMILIES[family]
        model = {"model_config": {**TYPES, **config}}
        if architecture:
            model["arch"] = {"type": architecture}
        yaml = {
            "runner_config": {"batch_size": ROWS // layout.get(DP, 1)}, "parallel_config": layout, "model": model,
            "micro_batch_interleave_num": copies,
        }  # fmt: skip
        with open(self.path(name + ".yaml"), "w") as file:
            json.dump(yaml, file)
        self.check(
            "mf-translate", "--import-mindformers", self.path(name + ".yaml"), "-o", self.path(name + ".mlir")
        )  # fmt: skip

    def lower(self, name, passes, target):
        self.check(
            "mf-opt", "--pass-pipeline=builtin.module(mf-read-config{file=%s},mf.model(%s))" % (
                self.path(name + ".yaml"), passes
            ), self.path(name + ".mlir"), "-o", self.path(target),
        )  # fmt: skip

    def make_whole(self, family, copies):
        name = "whole-%s-%d" % (family, copies)
        if name in self.whole:
            return name
        self.whole.add(name)
        self.make(name, family, {"interleave": copies})
        self.lower(name, "mf-partition", name + "-forward.mlir")
        self.lower(name, "mf-partition,mf-build-backward", name + "-backward.mlir")
        return name

    def count(self, name, layer):
        """Collectives of a layer in forward and in backward."""
        counts = [collections.Counter(), collections.Counter()]
        pattern = r'mf\.(all_reduce|all_gather|reduce_scatter|all_to_all) .*"%s\.[^"]*?(\.grad)?"' % re.escape(layer)
        for match in re.finditer(pattern, open(self.path(name)).read()):
            counts[match.group(2) is not None][match.group(1)] += 1
        return tuple(dict(count) for count in counts)

    def compare(self, before, after):
        _, output, errors = run(
            os.path.join(self.bin, "mf-check-rewrite"), self.path(before), self.path(after), "--tolerance=1e-5"
        )
        return (output + errors).strip()


def main():
    part = parts.pop_part()
    models = Models(*sys.argv[1:])
    shard = "mf-partition,mf-interleave-rows,mf-propagate-layouts,mf-lower-reshards,mf-localize"
    problems = 0
    for family, layout, expected in part.select(LAYOUTS):
        whole = models.make_whole(family, layout.get("interleave", 1))
        models.make("input", family, layout)
        models.lower("input", shard, "forward.mlir")
        models.lower(
            "input", shard + ",mf-build-backward,mf.chunk(mf-insert-recompute,mf-overlap-copies)", "backward.mlir"
        )  # fmt: skip
        said = [
            models.compare("%s-%s.mlir" % (whole, half), half + ".mlir") for half in ("forward", "backward")
        ]  # fmt: skip
        counts = models.count("backward.mlir", "layers.1")
        # Into Llama's final norm, and into mcore's head, go all rows; the gradient is summed and cut at once.
        entry = "lm_head" if family == "qwen3" else "norm_out"
        if expected is SEQUENCE and models.count("backward.mlir", entry) != NORM_OUT:
            problems += 1
            print(family, layout, models.count("backward.mlir", entry))
        if said != ["same losses", "same losses, gradients"] or (expected and counts != tuple(expected)):
            problems += 1
            print(family, layout, said, counts)
    print("%d layouts, %d problems" % (len(part.select(LAYOUTS)), problems))


if __name__ == "__main__":
    main()
