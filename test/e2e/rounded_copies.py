"""Checks that ranks that keep rounded copies of their parts of weights (--cast-once) train the same.

usage: rounded_copies.py BIN_FOLDER WORK_FOLDER

Ranks share weights out and gather them in bf16, as in the dynamic graph. Losses, gradients and parameters have the same
bits, and each rank needs what was planned, which is more with copies.
"""

import os
import sys

import numpy
import step_results
import training
from dynamic_configurations import DEEPSEEK, QWEN, Configuration, make_data

MICRO_BATCHES = 2
DEEP = dict(DEEPSEEK, num_hidden_layers=2, num_nextn_predict_layers=0)
CASES = {"FSDP": (DEEP, {"data": 2, "shard": -1}), "heads": (dict(QWEN, num_hidden_layers=2), {"data": 2, "tensor": 2})}


def run(tools, configuration, *options):
    yaml, mlir, step, data = (tools.path("case" + end) for end in (".yaml", ".mlir", ".step.mlir", ".npy"))
    configuration.write(yaml)
    os.environ["RANK_SIZE"] = str(configuration.get_ranks())
    tools.run("mf-translate", "--import-mindformers", yaml, "-o", mlir)
    tools.run("mf-opt", "--quiet", "--recompute-config=" + yaml, *options, mlir, "-o", step)
    numpy.save(data, make_data(MICRO_BATCHES * configuration.get("data"), 2))
    result = step_results.run(tools, step, data, 2, step_results.initialize(tools, mlir))
    with open(step) as file:
        return result, max(int(line.split("arena_bytes = ")[1].split()[0]) for line in file if "arena_bytes" in line)


def main():
    tools = training.Tools(sys.argv[1], sys.argv[2])
    for name, (model, parallel) in CASES.items():
        configuration = Configuration(dict(model, compute_dtype="bfloat16"), parallel, {}, (MICRO_BATCHES, 1))
        rounded, planned = run(tools, configuration)
        kept, planned_kept = run(tools, configuration, "--cast-once")
        parts = sum(value.size for value in rounded.parameters.values()) // configuration.get_ranks()
        print("%s: copies take %d bytes, a rank has %d elements" % (name, planned_kept - planned, parts))
        assert kept.has_same_bits(rounded)
        assert 0 < planned_kept - planned


if __name__ == "__main__":
    main()
