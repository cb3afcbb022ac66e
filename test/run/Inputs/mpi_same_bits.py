# SPDX-License-Identifier: Apache-2.0
"""Runs a program in one process and under mpirun, and compares what is written.

usage: mpi_same_bits.py MPIRUN MF_RUN FOLDER STEP.mlir COUNTS [OPTION...]

Lines (but for times), the report's losses and norms, the gradients of each step,
the parameters and the files of checkpoints must be the same, byte by byte; and
a checkpoint that one engine writes goes on with the same bits on the other.
"""

import json
import os
import re
import shutil
import subprocess
import sys

STEPS = 4


def read(path):
    with open(path, "rb") as file:
        return file.read()


def run(command, folder, options=()):
    """What a run prints and writes, by name."""
    path = lambda name: os.path.join(folder, name)
    shutil.rmtree(path("gradients"), ignore_errors=True)
    lines = subprocess.run(
        command
        + ["--steps", str(STEPS), "--save-params", path("params"), "--report", path("report")]
        + ["--dump-gradients-every-step", path("gradients"), "--checkpoint-dir", path("saved")]
        + ["--checkpoint-every", str(STEPS // 2), *options],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout  # fmt: skip
    # Times differ; the epoch is as long as the run.
    keep = re.compile(r"step:\[ *(\d+)/|((?:loss|lr|loss_scale|global_norm): \S+)")
    found = {"lines": keep.findall(lines), "params": read(path("params"))}
    report = json.load(open(path("report")))
    found["steps"] = [{k: v for k, v in step.items() if k != "seconds"} for step in report["steps"]]
    found["ranks"] = [
        {k: v for k, v in rank.items() if "stall" not in k} for rank in report["ranks"]
    ]
    for top in ("gradients", "saved"):
        for parent, _, names in os.walk(path(top)):
            for name in names:
                whole = os.path.join(parent, name)
                found[os.path.relpath(whole, folder)] = read(whole)
    return found


def compare(expected, got, what):
    assert expected.keys() == got.keys(), (what, sorted(expected.keys() ^ got.keys()))
    for name in expected:
        if expected[name] != got[name]:
            sys.exit("%s: %s differs: %s instead of %s" % (what, name, got[name], expected[name]))


def main():
    mpirun, mf_run, work, program, counts, *options = sys.argv[1:]
    single = [mf_run, program, *options]
    work = os.path.join(work, os.path.basename(program) + ".d")
    folder = lambda name: os.path.join(work, name)
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(folder("single"))
    expected = run(single, folder("single"))
    assert len(expected["steps"]) == STEPS

    def resume(command, source, target):
        """Goes on from the middle of the run that `source` is of."""
        os.makedirs(folder(target))
        shutil.copytree(folder(source) + "/saved", folder(target) + "/saved")
        shutil.rmtree(folder(target) + "/saved/step_%06d" % STEPS)
        found = run(command, folder(target), ["--resume"])
        assert len(found["steps"]) == STEPS // 2
        assert found["params"] == expected["params"]
        return found

    resumed = resume(single, "single", "resumed")
    for count in counts.split(","):
        several = mpirun.split() + ["-n", count] + single
        os.makedirs(folder(count))
        compare(expected, run(several, folder(count)), count + " processes")
        # Saved by one process, resumed by several, and the other way around.
        compare(resumed, resume(several, "single", count + ".resumed"), "resumed in " + count)
        compare(resumed, resume(single, count, count + ".from"), "resumed from " + count)
        os.makedirs(folder(count + ".debug"))
        debug = run(several, folder(count + ".debug"), ["--debug-memory"])
        assert debug["params"] == expected["params"]
    print("%d steps, %d files: same in %s processes" % (STEPS, len(expected) - 4, counts.replace(",", " and ")))


main()
