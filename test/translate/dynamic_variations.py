# SPDX-License-Identifier: Apache-2.0
"""Checks layers, shards, recomputed layers and memory of variations of a DeepSeek-V3 of the dynamic graph.

usage: dynamic_variations.py YAML BIN_FOLDER WORK_FOLDER

What each rank stores is compared with the trainer's rules, written here: tensor-parallel ranks cut a weight by its name,
and then the ranks that share it out cut what each has of it along the first dimension, if that divides.
"""

import os
import re
import subprocess
import sys

# Tensor-parallel ranks cut these dimensions; all other weights are whole on each.
CUT = {
    "word_embeddings": 0, "output_layer": 0, "linear_qb": 0, "linear_kvb": 0, "linear_proj": 1,
    "mlp.linear_fc1": 0, "mlp.linear_fc2": 1,
}  # fmt: skip

# Ranks, changes of the YAML, the sizes (tensor, shards, expert, shards of experts), and layers as mf-opt lists them.
VARIATIONS = {
    "two ranks": (2, {}, (1, 2, 1, 2), ["0-3 0 0 nothing"]),
    "eight ranks of tensors and experts": (
        8, {"tensor_parallel": 2, "sequence_parallel": True, "expert_parallel": 4, "global_batch_size": 4},
        (2, 4, 4, 2), ["0-3 0 0 nothing"],
    ),
    "replicas": (8, {"data_parallel_shard": 4, "global_batch_size": 8}, (1, 4, 1, 4), ["0-3 0 0 nothing"]),
    "sixteen ranks on two stages": (
        16, {
            "pipeline_parallel": 2, "pipeline_parallel_layers_per_stage": "['0', '1-3']", "tensor_parallel": 2,
            "sequence_parallel": True, "global_batch_size": 16,
        },
        (2, 4, 1, 4), ["0 0 0 nothing", "1-3 1 0 nothing"],
    ),
    "recomputed, and a later token": (
        4, {"recompute": "{mode: full, full_recompute_layer: ['1-2', '4']}", "num_nextn_predict_layers": 1,
            "global_batch_size": 4},
        (1, 4, 1, 4), ["0 0 0 nothing", "1-2 0 0 full recompute", "3 0 0 nothing", "4 0 0 full recompute"],
    ),
}  # fmt: skip


def change(text, changes):
    text = re.sub(r"num_hidden_layers: 12", "num_hidden_layers: 4", text)
    for key, value in changes.items():
        if re.search(r"(?m)^( *)%s:" % key, text):
            text = re.sub(r"(?m)^( *)%s:.*" % key, r"\g<1>%s: %s" % (key, value), text)
        elif key == "recompute":
            text += "\nrecompute: %s\n" % value
        else:
            text = re.sub(r"(?m)^parallelism:.*", "parallelism:\n  %s: %s" % (key, value), text)
    return text


def get_expected(name, shape, sizes):
    tensor, shards, expert, expert_shards = sizes
    local = list(shape)
    for part, dim in CUT.items():
        if part + "." in name and ".shared_experts." not in name:
            local[dim] //= tensor
    if ".experts.weight" in name and expert > 1:
        local[0] //= expert
        shards = expert_shards
    if local[0] % shards == 0:
        local[0] //= shards
    return local


def run(bin_folder, tool, *arguments):
    result = subprocess.run([os.path.join(bin_folder, tool), *arguments], capture_output=True, text=True, timeout=300)
    if result.returncode != 0:
        sys.exit("%s failed:\n%s" % (tool, result.stderr))
    return result.stderr


def check(name, source, bin_folder, folder):
    ranks, changes, sizes, layers = VARIATIONS[name]
    yaml, model, step = (os.path.join(folder, "case" + end) for end in (".yaml", ".mlir", ".step.mlir"))
    with open(yaml, "w") as file:
        file.write(change(source, changes))
    os.environ["RANK_SIZE"] = str(ranks)
    run(bin_folder, "mf-translate", "--import-mindformers", yaml, "-o", model)
    told = run(bin_folder, "mf-opt", "--verify=false", "--recompute-config=" + yaml, model, "-o", step)
    rows = [" ".join(line.split()) for line in told.splitlines()]
    problems = ["%s: layers %r are not listed in\n%s" % (name, row, told) for row in layers if row not in rows]
    pattern = r'ascend\.static @(\S+) parameter of "(\S+)" : !ascend\.buffer<([0-9x]+)xf32, hbm> slice <\[([0-9, ]+)\]'
    stored = 0
    text = open(step).read()
    for static, parameter, local, whole in re.findall(pattern, text):
        stored += 1
        expected = get_expected(parameter, [int(n) for n in whole.split(",")], sizes)
        if [int(n) for n in local.split("x")] != expected:
            problems.append("%s: %s has %s of [%s] on a rank, expected %s" % (name, static, local, whole, expected))
    arenas = [int(n) >> 20 for n in re.findall(r"arena_bytes = (\d+)", text)]
    print("%s: %d parameters, %s MiB, %d problems" % (name, stored, arenas, len(problems)))
    return problems


def main():
    source = open(sys.argv[1]).read()
    os.makedirs(sys.argv[3], exist_ok=True)
    problems = [problem for name in VARIATIONS for problem in check(name, source, *sys.argv[2:4])]
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
