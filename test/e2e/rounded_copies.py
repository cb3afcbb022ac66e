# SPDX-License-Identifier: Apache-2.0
"""Checks that ranks that keep rounded copies of their parts of weights train the same as those that round them anew.

usage: rounded_copies.py BIN_FOLDER WORK_FOLDER

The dynamic graph's ranks keep weights that layers read in bf16 in that type, too, as `mf.kept` of an imported model says.
Without it each reader rounds. Losses, gradients and parameters have the same bits, each rank needs what was planned, and
memory for copies is what they have bytes.
"""

import re
import sys

import numpy
import step_results
import training
from dynamic_configurations import DEEPSEEK, QWEN, Configuration, make_data

MICRO_BATCHES = 2
DEEP = dict(DEEPSEEK, num_hidden_layers=2, num_nextn_predict_layers=0)
RECOMPUTED = ["recompute: {mode: full, full_recompute_layer: ['0-1']}"]
CASES = {
    "one rank": (DEEP, {}, ()),
    "FSDP": (DEEP, {"data": 2, "shard": -1}, ()),
    "FSDP, recomputed": (DEEP, {"data": 2, "shard": -1}, RECOMPUTED),
    "stages": (DEEP, {"data": 2, "shard": -1, "pipeline": 2}, ()),
    "heads": (dict(QWEN, num_hidden_layers=2), {"data": 2, "tensor": 2}, ()),
}
ROUNDED = re.compile(r"ascend.static @\S+ rounded .*!ascend.buffer<([0-9x]+)xbf16")


def count_bytes(path):
    """The bytes of rounded copies by stage, and the stages' arenas."""
    copies, arenas = [], []
    with open(path) as file:
        for line in file:
            if "ascend.program @" in line:
                copies.append(0)
                arenas.append(int(line.split("arena_bytes = ")[1].split()[0]))
            if found := ROUNDED.search(line):
                copies[-1] += 2 * int(numpy.prod([int(size) for size in found.group(1).split("x")]))
    return copies, arenas


def run(tools, configuration, keeps):
    (mlir, step), yaml, data = configuration.lower(tools), tools.path("case.yaml"), tools.path("case.npy")
    if not keeps:
        with open(mlir) as file:
            text = file.read()
        with open(mlir, "w") as file:
            file.write(text.replace(", mf.kept = bf16", "").replace(" {mf.kept = bf16}", ""))
        tools.run("mf-opt", "--quiet", "--recompute-config=" + yaml, mlir, "-o", step)
    numpy.save(data, make_data(MICRO_BATCHES * configuration.get("data"), 2))
    return step_results.run(tools, step, data, 2, step_results.initialize(tools, mlir)), count_bytes(step)


def main():
    tools = training.Tools(sys.argv[1], sys.argv[2])
    for name, (model, parallel, memory) in CASES.items():
        configuration = Configuration(dict(model, compute_dtype="bfloat16"), parallel, {}, (MICRO_BATCHES, 1), memory)
        rounded, (none, without) = run(tools, configuration, keeps=False)
        kept, (copies, planned) = run(tools, configuration, keeps=True)
        more = [a - b for a, b in zip(planned, without, strict=True)]
        print("%s: the same bits, copies of %s bytes, arenas %s larger" % (name, copies, more))
        assert kept.has_same_bits(rounded)
        assert not any(none) and all(copies)


if __name__ == "__main__":
    main()
