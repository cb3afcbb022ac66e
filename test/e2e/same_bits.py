#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the bits of a training step as two YAMLs configure it.

usage: same_bits.py BIN_FOLDER WORK_FOLDER EXPECTED.yaml ACTUAL.yaml

Both have one model, batch and number of micro-batches; recompute, swap, stages, schedules and threads may differ. A line
`# mf-opt: --schedule=NAME`, or of mf-translate or mf-run, is an option of that tool, and `# set: NAME=VALUE` a variable of their
environment. Losses, norms, gradients and parameters must be the same bytes; `# losses: rounded` lets losses be off by 1e-6.
Exit code 1 says that they are not the same, 2 that the runs fail or cannot be compared.
"""

import json
import os
import re
import subprocess
import sys

import numpy
import safetensors
import step_results
import training

# Bytes that are tokens of the smallest vocabulary that campaigns draw.
TOKENS = range(32, 112)
OPTION = re.compile(r"# ([\w-]+): (\S.*)")


class NotComparable(Exception):
    """Two runs that do not have to have the same bits."""


class Run:
    """What a YAML gives. It is not executed if its stages need more than `most_bytes`."""

    def __init__(self, tools, data, path, most_bytes=None):
        self.options = {"mf-translate": [], "mf-opt": [], "mf-run": [], "set": [], "losses": []}
        with open(path) as file:
            for name, option in OPTION.findall(file.read()):
                self.options[name].append(option)
        self.environment = dict(os.environ, **dict(option.split("=", 1) for option in self.options["set"]))
        self.tools, self.name = tools, os.path.splitext(os.path.basename(path))[0]
        model, step = (tools.path(self.name + ending) for ending in (".mlir", ".step.mlir"))
        self.start("mf-translate", "--import-mindformers", path, "-o", model)
        self.start("mf-opt", "--quiet", "--recompute-config=" + path, model, "-o", step)
        self.bytes = self.get_bytes(step)
        if most_bytes and self.bytes > most_bytes:
            raise NotComparable("%d bytes, of at most %d" % (self.bytes, most_bytes))
        self.execute(step, data, step_results.initialize(tools, model))

    def start(self, tool, *arguments):
        command = [os.path.join(self.tools.bin, tool), *arguments, *self.options[tool]]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=self.environment)
        except subprocess.TimeoutExpired:
            raise NotComparable("%s takes too long" % tool)
        if done.returncode:
            raise NotComparable("%s fails (%d): %s" % (tool, done.returncode, done.stderr[-500:]))

    @staticmethod
    def get_bytes(step):
        with open(step) as file:
            return sum(map(int, re.findall(r"\barena_bytes = (\d+)", file.read())))

    def execute(self, step, data, initial):
        report, gradients, parameters = (self.tools.path(self.name + ending) for ending in (".json", ".gradients", ".parameters"))
        self.start("mf-run", step, "--quiet", "--data", data, "--init-params", initial, "--report", report,
                   "--dump-gradients", gradients, "--save-params", parameters)  # fmt: skip
        with open(report) as file:
            said = json.load(file)
        steps = [(step["loss"], step["global_norm"]) for step in said["steps"]]
        self.losses, self.norms = ([step[index] for step in steps] for index in (0, 1))
        self.gradients, self.parameters = safetensors.load_bytes(gradients), safetensors.load_bytes(parameters)
        sizes = {name: len(value) for name, value in self.parameters.items()}
        # Two steps have the same bits only if these are the same.
        self.work = (
            said["micro_batches"], said["tokens_per_step"], said["num_ranks"] // len(said["stages"]), sizes,
            [step["learning_rate"] for step in said["steps"]],
        )  # fmt: skip


def compare(expected, actual):
    """The first difference of losses, norms, gradients and parameters."""
    if expected.work != actual.work:
        raise NotComparable("the steps are not of the same work")
    for what in ("losses", "norms", "gradients", "parameters"):
        one, other = getattr(expected, what), getattr(actual, what)
        if one == other or what == "losses" and "rounded" in expected.options["losses"] and numpy.allclose(one, other, rtol=1e-6, atol=0):
            continue
        names = [name for name in sorted({*one, *other}) if one.get(name) != other.get(name)] if isinstance(one, dict) else []
        yield what + (" of %s" % ", ".join(names[:3]) if names else " %s and %s" % (one, other))


def write_data(path):
    generator = numpy.random.RandomState(7)
    with open(path, "wb") as file:
        file.write(bytes(generator.choice(TOKENS, 20000).tolist()))


def main():
    tools = training.Tools(*sys.argv[1:3])
    os.makedirs(tools.work, exist_ok=True)
    data = tools.path("text.txt")
    write_data(data)
    try:
        found = list(compare(*(Run(tools, data, path) for path in sys.argv[3:5])))
    except NotComparable as error:
        print("error: %s" % error)
        sys.exit(2)
    print("\n".join("other " + what for what in found) or "the same bits")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
