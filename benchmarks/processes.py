# SPDX-License-Identifier: Apache-2.0
"""Times a training step of small models: all ranks in one process, and in
several under mpirun; the fastest step of each run.

usage: processes.py BIN_FOLDER [--steps N]

A Llama of two and of four stages, as YAML and mf-opt make it, and the step of
test/run/many-ranks.mlir, which computes nearly nothing, so that its time is that of its messages and
collectives. Both engines have the same threads in all.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "test", "e2e"))

import training  # noqa: E402

THREADS = 2
SIZES = {
    "hidden_size": 256,
    "num_layers": 4,
    "num_heads": 4,
    "n_kv_heads": 4,
    "intermediate_size": 688,
    "seq_length": 256,
    "vocab_size": 4096,
}
MPIRUN = ["mpirun", "-q", "--oversubscribe", "--bind-to", "none"]


def time_steps(tools, step, processes, steps, extra):
    """The milliseconds of the fastest training step, and the losses."""
    report = tools.path("report.json")
    command = MPIRUN + ["-n", str(processes)] if processes > 1 else []
    command = command + [os.path.join(tools.bin, "mf-run"), step, "--steps", str(steps + 1), "--quiet"]
    command += ["--threads", str(THREADS), "--report", report] + extra
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    subprocess.run(command, check=True, env=environment)
    found = json.load(open(report))["steps"][1:]
    return 1000 * min(step["seconds"] for step in found), [step["loss"] for step in found]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bin_folder", nargs="?", default=os.path.join(ROOT, "build", "bin"))
    parser.add_argument("--steps", type=int, default=20)
    arguments = parser.parse_args()
    row = "%-30s%7s%14s%14s%14s"
    print(row % ("ms per step", "ranks", "one process", "2 processes", "4 processes"))
    with tempfile.TemporaryDirectory() as folder:
        tools = training.Tools(arguments.bin_folder, folder)
        cases = []
        for stages in (2, 4):
            name = "Llama of %d stages" % stages
            model = dict(training.MODEL, **SIZES)
            _, step = tools.lower("stages%d" % stages, model, stages=stages, micro_batches=4, batch_size=1)
            cases.append((name, stages, step, ["--data", "/usr/share/common-licenses/GPL-3"]))
        ranks = tools.path("ranks.mlir")
        tools.run("mf-opt", "--ascend-plan-memory", os.path.join(ROOT, "test/run/many-ranks.mlir"), "-o", ranks)
        cases.append(("collectives and messages only", 4, ranks, []))
        for name, count, step, extra in cases:
            times, expected = [], None
            for processes in (1, 2, 4):
                if processes > count:
                    times.append("-")
                    continue
                milliseconds, losses = time_steps(tools, step, processes, arguments.steps, extra)
                assert expected is None or expected == losses
                expected = losses
                times.append("%.2f" % milliseconds)
            print(row % (name, count, *times), flush=True)


if __name__ == "__main__":
    main()
