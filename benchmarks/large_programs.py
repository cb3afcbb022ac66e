# SPDX-License-Identifier: Apache-2.0
"""Times mf-opt and the start of mf-run on programs of many micro-batches, about 100 MB of text each.

usage: large_programs.py [BIN_FOLDER [MICRO_BATCHES]]

Seconds are processor time of whole runs, start-up included. mf-opt compiles and prints text. mf-run is given tokens
that no vocabulary has: it parses, decodes, verifies, makes devices and parameters, and ends where it would issue the
first instruction. "proofs" is the part of this time that --verify=false saves, which leaves only the proof that no ranks
wait for each other. "bytecode" is the same start from MLIR bytecode, with all proofs.
"""

import os
import resource
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "test", "e2e"))

import numpy  # noqa: E402
import training  # noqa: E402

# Name, and the share of micro-batches with which its text has about the same size.
PROGRAMS = [
    ("one stage", 1, dict(stages=1)),
    ("1f1b, 2 stages", 2, dict(stages=2)),
    ("interleaved, 2 stages", 4, dict(stages=2, interleave=2)),
    ("zero_bubble_v, 2 stages", 4, dict(stages=2, interleave=2, scheduler="zero_bubble_v")),
]


def measure(command, expected_code=0):
    """Processor seconds of a command and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = subprocess.run(command, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if result.returncode != expected_code:
        raise RuntimeError("%s failed: %s" % (" ".join(command), result.stderr[-500:]))
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else ROOT + "/build/bin"
    micro_batches = int(sys.argv[2]) if len(sys.argv) > 2 else 65536
    row = "%-24s%14s%9s%12s%10s%10s%10s%15s%12s"
    print(row % ("program", "micro-batches", "MB", "operations", "mf-opt s", "start s", "proofs s", "bytecode MB", "start s"))
    with tempfile.TemporaryDirectory() as work:
        tools = training.Tools(folder, work)
        tokens = tools.path("tokens.npy")
        numpy.save(tokens, numpy.full(1 << 23, 1 << 30, dtype=numpy.int32))
        mf_opt, mf_run = os.path.join(folder, "mf-opt"), os.path.join(folder, "mf-run")
        for name, share, options in PROGRAMS:
            model, step = tools.lower("model", training.MODEL, **options, micro_batches=8)
            yaml, bytecode = tools.path("model.yaml"), tools.path("step.mlirbc")
            count = micro_batches // share
            training.write_yaml(yaml, training.MODEL, **options, micro_batches=count)

            def start(file, *more):
                return measure([mf_run, file, "--data", tokens, "--threads=1", *more], expected_code=1)

            compiling = measure([mf_opt, "--quiet", "--recompute-config=" + yaml, model, "-o", step])
            measure([mf_opt, step, "--emit-bytecode", "-o", bytecode])
            text = start(step)
            seconds = [compiling, text, text - start(step, "--verify=false"), start(bytecode)]
            sizes = [os.path.getsize(file) / 1e6 for file in (step, bytecode)]
            with open(step) as file:
                operations = sum(" = " in line or "ascend." in line for line in file)
            print(
                row % (name, count, "%.0f" % sizes[0], operations, *("%.1f" % s for s in seconds[:3]),
                       "%.0f" % sizes[1], "%.1f" % seconds[3]),
                flush=True,
            )  # fmt: skip


if __name__ == "__main__":
    main()
