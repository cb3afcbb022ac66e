#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Schedules of DeepSeek-V3: bubble, peak and time of a step.

    benchmarks/deepseek_schedules.py [--bin=build/bin] [--micro-batches=N] [--targets=NAME,...] [--only=SCHEDULE,...]
                                     [--keep] [--set PATH=VALUE]...

The YAML of MindSpore Transformers for DeepSeek-V3 on 1024 devices (16 stages, 8 ranks that share experts out, 4 of model
parallel), with all layers recomputed (--keep: none), and as even as 62 layers can be over the chunks of each schedule.
Every schedule is lowered and simulated on each target: the seconds of a step, the shares of it in which a stage, on the
mean, waits for other stages (bubble) or for its own exchanges (exposed), and GiB of the fullest rank. The time of a pair
follows from its kernels and exchanges: no number of the target says how much a pair hides.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
YAML = ROOT + "/test/data/mindformers/yamls/pretrain_deepseek3_671b.yaml"
# With the layer that predicts a further token.
STAGES, LAYERS = 16, 62
# Name, pipeline_scheduler, chunks on a stage.
SCHEDULES = [
    ("1f1b", "1f1b", 1),
    ("1f1b-paired", "1f1b", 1),
    ("1f1b-paired-split", "1f1b", 1),
    ("zero-bubble-h1", "1f1b", 1),
    ("zero-bubble-h2", "1f1b", 1),
    ("interleaved", "1f1b", 2),
    ("1f1b-paired", "1f1b", 2),
    ("v-half", "zero_bubble_v", 2),
    ("v-min", "zero_bubble_v", 2),
    ("zero-bubble-v", "zero_bubble_v", 2),
    ("dualpipe-v", "zero_bubble_v", 2),
    ("dualpipe-v-paired", "zero_bubble_v", 2),
]


def get_offset(chunks, is_v):
    """Layers more than the least in each mini stage: the last ones, with the head, have fewer. Rows are of the stages."""
    least = LAYERS // (STAGES * chunks)
    more = LAYERS - least * STAGES * chunks
    flat = [1] * more + [0] * (STAGES * chunks - more)
    rows = [flat[i * STAGES : (i + 1) * STAGES] for i in range(chunks)]
    if is_v:
        rows[1].reverse()
    return str(rows[0] if chunks == 1 else rows)


def write_yaml(path, scheduler, chunks, micro_batches, recomputes):
    with open(YAML) as file:
        text = file.read()

    def replace(pattern, value):
        nonlocal text
        text, count = re.subn(pattern, value, text, count=1, flags=re.MULTILINE)
        assert count == 1, pattern

    replace(r"^  micro_batch_num: &micro_batch_num \d+", "  micro_batch_num: &micro_batch_num %d" % micro_batches)
    replace(r"^  recompute: \[.*\]", "  recompute: %s" % recomputes)
    replace(r"^    offset: .*", "    offset: %s\n    pp_interleave_num: %d" % (get_offset(chunks, scheduler == "zero_bubble_v"), chunks))
    replace(r"^parallel:$", "parallel:\n  pipeline_config: {pipeline_interleave: %s, pipeline_scheduler: %s}"
            % (chunks > 1, scheduler))  # fmt: skip
    with open(path, "w") as file:
        file.write(text)


class Runs:
    def __init__(self, options, work):
        self.bin, self.work, self.options = options.bin, work, options
        self.changes = ["--set=" + change for change in options.set]

    def path(self, name):
        return os.path.join(self.work, name)

    def run(self, tool, *arguments):
        command = [os.path.join(self.bin, tool), *arguments]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode != 0:
            raise RuntimeError("%s:\n%s" % (" ".join(command), result.stderr[-2000:]))

    def lower(self, name, scheduler, chunks):
        yaml, model, step = map(self.path, ("train.yaml", "model.mlir", "step.mlirbc"))
        write_yaml(yaml, scheduler, chunks, self.options.micro_batches, not self.options.keep)
        self.run("mf-translate", "--import-mindformers", yaml, "-o", model)
        # The table has the memory, so a step that does not fit is no error.
        self.run("mf-opt", "--quiet", "--verify=false", "--hbm=none", "--advise=false", "--schedule=" + name,
                 "--recompute-config=" + yaml, "-emit-bytecode", model, "-o", step)  # fmt: skip
        return step

    def simulate(self, step, target):
        """The report of a step on a target."""
        report = self.path("report.json")
        self.run("mf-run", "--simulate", "--verify=false", "--quiet", "--target=" + target, *self.changes,
                 "--report=" + report, step)  # fmt: skip
        with open(report) as file:
            return json.load(file)


def describe(report):
    stages, seconds = report["stages"], report["step_seconds"]

    def get_share(key):
        return 100 * sum(stage[key] for stage in stages) / len(stages) / seconds

    return "%8.3f s%6.1f%%%8.1f%%%6.1f" % (
        seconds, get_share("bubble_seconds"), get_share("exposed_communication_seconds"),
        max(stage["peak_bytes"] for stage in stages) / 2**30,
    )  # fmt: skip


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default=ROOT + "/build/bin")
    parser.add_argument("--micro-batches", type=int, default=64)
    parser.add_argument("--targets", default="atlas-800t-a2,atlas-900-a3", type=lambda names: names.split(","))
    parser.add_argument("--only", type=lambda names: names.split(","))
    parser.add_argument("--keep", action="store_true", help="recompute nothing")
    parser.add_argument("--set", action="append", default=[])
    options = parser.parse_args()
    print("%-20s%7s" % ("%d micro-batches" % options.micro_batches, "chunks")
          + "".join("%31s" % target for target in options.targets))  # fmt: skip
    print(27 * " " + len(options.targets) * "       step bubble  exposed   GiB")
    with tempfile.TemporaryDirectory() as work:
        runs = Runs(options, work)
        for name, scheduler, chunks in SCHEDULES:
            if options.only and name not in options.only:
                continue
            line = "%-20s%7d" % (name, chunks)
            try:
                step = runs.lower(name, scheduler, chunks)
            except RuntimeError as error:
                print(line, str(error).strip().split("\n")[-1])
                continue
            for target in options.targets:
                report = runs.simulate(step, target)
                line += describe(report)
            print(line)
            sys.stdout.flush()


if __name__ == "__main__":
    main()
