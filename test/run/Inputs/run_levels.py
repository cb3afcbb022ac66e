# SPDX-License-Identifier: Apache-2.0
"""Runs a model at each level of its way to a program, and the program.

usage: run_levels.py BIN_FOLDER MODEL YAML DATA WORK_FOLDER

Prints, for each level, in how many of three steps losses and gradients are
bit for bit those of the program, and whether the trained parameters are.
"""

import json
import os
import subprocess
import sys

STEPS = 3
LEVELS = [
    "mf-partition",
    "mf-mark-memory",
    "mf-build-backward",
    "mf.chunk(mf-insert-recompute)",
    "mf.chunk(mf-insert-swap)",
    "mf-split-chunks",
    "mf-insert-optimizer",
    "mf-build-schedule",
]


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit("%s failed:\n%s%s" % (" ".join(command), result.stdout, result.stderr))
    return result.stdout


def load(path):
    with open(path, "rb") as file:
        return file.read()


def train(tool, step, data, folder, has_gradients, extra=()):
    """Printed losses, losses in full, gradients and parameters."""
    os.makedirs(folder, exist_ok=True)
    report = os.path.join(folder, "report.json")
    parameters = os.path.join(folder, "parameters.safetensors")
    options = ["--dump-gradients-every-step", folder] if has_gradients else []
    printed = run(
        tool, step, "--steps", str(STEPS), "--seed", "7", "--data", data, "--threads", "2",
        "--report", report, "--save-params", parameters, *options, *extra,
    )  # fmt: skip
    names = ["step_%06d.safetensors" % (i + 1) for i in range(STEPS)] if has_gradients else []
    return (
        [line.split("per_step_time")[0] for line in printed.splitlines()],
        [step["loss"] for step in json.load(open(report))["steps"]],
        [load(os.path.join(folder, name)) for name in names],
        load(parameters),
    )


def count_same(expected, actual):
    return sum(a == b for a, b in zip(expected, actual))


def main():
    tools, model, yaml, data, work = sys.argv[1:]
    opt, runner = os.path.join(tools, "mf-opt"), os.path.join(tools, "mf-run")
    program = os.path.join(work, "program.mlir")
    # The ranks of these models have the same rows: not what one would compute.
    run(opt, "--quiet", "--verify=false", "--recompute-config=" + yaml, model, "-o", program)
    expected = train(runner, program, data, os.path.join(work, "program"), True, ["--verify=false"])
    for index, level in enumerate(LEVELS):
        step = os.path.join(work, "level%d.mlir" % index)
        pipeline = "builtin.module(mf-read-config{file=%s},mf.model(%s))" % (
            yaml, ",".join(LEVELS[: index + 1]),
        )  # fmt: skip
        run(opt, "--pass-pipeline=" + pipeline, model, "-o", step)
        actual = train(runner, step, data, os.path.join(work, "level%d" % index), index >= 2)
        same = [count_same(*pair) for pair in zip(expected[:3], actual[:3])]
        print(
            "%s: lines %d, losses %d, gradients %d, %s parameters"
            % (level, *same, "same" if expected[3] == actual[3] else "other")
        )


if __name__ == "__main__":
    main()
