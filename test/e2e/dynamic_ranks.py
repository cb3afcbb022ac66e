# SPDX-License-Identifier: Apache-2.0
"""Checks steps of the dynamic graph on 16 ranks, in one process and in several.

usage: dynamic_ranks.py BIN_FOLDER WORK_FOLDER

With FSDP and HSDP loss, norm and gradients must agree with one rank to a relative 2e-5. Recompute changes no bit, nor do
the processes that ranks are in.
"""

import shutil
import sys

import step_results
import training
from dynamic_configurations import BOUND, DEEPSEEK, QWEN, Checks, Configuration

LAYERS_AGAIN = "recompute: {mode: full, full_recompute_layer: ['0-1']}"
MODEL = dict(DEEPSEEK, num_nextn_predict_layers=0)
# The samples of both are one for each data-parallel rank.
CASES = {
    "FSDP": Configuration(dict(QWEN, intermediate_size=128), {"data": 16, "shard": -1}, {}, (1, 1)),
    "HSDP": Configuration(MODEL, {"data": 8, "shard": 4, "tensor": 2, "expert": 4}, {}, (1, 1)),
}


def check(tools, name, configuration):
    checks = Checks(tools)
    actual = checks.run(configuration)
    distance = step_results.get_distance(checks.run(configuration.get_one_rank()), actual)
    again = checks.run(configuration.change(memory=[LAYERS_AGAIN]))
    problems = [] if distance < BOUND else ["%.3g off from one rank" % distance]
    if not again.has_same_bits(actual):
        problems.append("other bits with recompute")
    if shutil.which("mpirun"):
        launcher = ("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "4")
        several = step_results.run(
            tools, tools.path("case.step.mlir"), tools.path("data.npy"), 1, tools.path("initial.safetensors"),
            launcher=launcher,
        )  # fmt: skip
        if not several.has_same_bits(again):
            problems.append("other bits in four processes")
    print("%s: %d ranks, %.1e off from one" % (name, actual.ranks, distance))
    return ["%s: %s" % (name, problem) for problem in problems]


def main():
    tools = training.Tools(sys.argv[1], sys.argv[2])
    problems = [problem for name, case in CASES.items() for problem in check(tools, name, case)]
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
