# SPDX-License-Identifier: Apache-2.0
"""Trains with planned settings: they change memory and time, and no bit.

usage: planned_bits.py BIN_FOLDER WORK_FOLDER [STEPS]

A small model on two stages, for whatever limit on memory: losses and trained parameters are the same bytes as with the
given settings, and every rank uses the bytes that mf-plan printed.
"""

import os
import random
import sys

import planning
import safetensors
import training

MODEL = dict(training.MODEL, num_layers=8)
# Slow enough that some plans recompute, fast enough that some swap.
LINK = "1e9"


class Runs:
    """Runs of planned and given YAMLs, beside the first of them."""

    def __init__(self, tools, steps):
        self.tools, self.steps = tools, steps
        self.data = tools.path("data")
        with open(self.data, "wb") as file:
            generator = random.Random(1)
            file.write(bytes(generator.randint(32, 126) for _ in range(20000)))
        self.expected, self.problems = None, []

    def run(self, name, step, peaks):
        saved = self.tools.path("saved.safetensors")
        report = self.tools.train(step, self.data, self.steps, extra=["--debug-memory", "--save-params", saved])
        bits = report["losses"], safetensors.load_bytes(saved)
        if self.expected is None:
            self.expected = bits
        if bits != self.expected:
            self.problems.append("%s: other losses or parameters" % name)
        for rank in report["ranks"]:
            if rank["peak_bytes"] != rank["used_bytes"] or rank["used_bytes"] != rank["planned_bytes"]:
                self.problems.append("%s: planned and used differ: %s" % (name, rank))
        used = [rank["used_bytes"] for rank in report["ranks"]]
        if used != peaks:
            self.problems.append("%s: mf-plan says %s bytes, mf-run used %s" % (name, peaks, used))


def main():
    tools = training.Tools(*sys.argv[1:3])
    runs = Runs(tools, int(sys.argv[3]) if len(sys.argv) > 3 else 3)
    planner = planning.Planner(
        tools, "this-machine", ["host.to_host_bytes_per_second=" + LINK, "host.to_device_bytes_per_second=" + LINK]
    )  # fmt: skip
    given = tools.path("given.yaml")
    training.write_yaml(given, MODEL, stages=2, micro_batches=4)
    found = planner.plan("all", given, "64GB")
    most = max(found.peaks)
    runs.run("given", planner.compile("given", given), [stage["peak_bytes"] for stage in found.given["stages"]])
    texts = set()
    for share in (1.0, 0.85, 0.75, 0.65):
        name = "planned-%g" % share
        plan = planner.plan(name, given, int(share * most))
        runs.run(name, planner.compile(name, plan.path, plan.limit), plan.peaks)
        texts.add(plan.get_text())
        os.remove(plan.path)
    for problem in runs.problems:
        print("error: " + problem)
    print("%d different plans, %d problems" % (len(texts), len(runs.problems)))
    return 1 if runs.problems else 0


if __name__ == "__main__":
    sys.exit(main())
