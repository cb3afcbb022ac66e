# SPDX-License-Identifier: Apache-2.0
"""Runs many steps with checkpoints, kills the run at random steps and resumes it: the parameters at the end are those of a run
that was not killed, and a process has no more files, threads or memory late in its run than early.

usage: long_run.py FOLDER MF-RUN PROGRAM STEPS KILLS [SEED]
"""

import os
import random
import re
import shutil
import subprocess
import sys

folder, mf_run, program, steps, kills = sys.argv[1:4] + [int(number) for number in sys.argv[4:6]]
draws = random.Random(int(sys.argv[6]) if len(sys.argv) > 6 else 1)
# The memory that an allocator may still gather after a tenth of the steps.
SLACK_KIB = 4096


def measure(process):
    """Files, threads and resident memory in KiB of a process that runs."""
    root = "/proc/%d/" % process.pid
    with open(root + "status") as file:
        status = file.read()
    memory, threads = (int(re.search(name + r":\s+(\d+)", status)[1]) for name in ("VmRSS", "Threads"))
    return len(os.listdir(root + "fd")), threads, memory


def run(name, last_step=None):
    """Runs to the end, or kills the run when it says `last_step`; true if it came to its end, as it may on a busy machine before this
    process reads what it says."""
    command = [mf_run, program, "--steps=%d" % steps, "--checkpoint-dir=" + os.path.join(folder, name), "--checkpoint-every=5"]
    command += ["--resume", "--save-params=" + os.path.join(folder, name + ".safetensors")]
    early, late, first, killed = [], [], None, False
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            step = int(re.search(r"step:\[ *(\d+)/", line)[1])
            first = first or step
            # Rank threads and files of a checkpoint come and go: a leak is what even the least of many late samples shows.
            if not last_step and len(early) < steps // 10 and step > first + steps // 10:
                early.append(measure(process))
            if not last_step and steps * 9 // 10 < step < steps - 5:
                late.append(measure(process))
            if last_step and step >= last_step:
                process.kill()
                killed = True
    # A run that fails by itself was not killed.
    assert killed or process.returncode == 0, process.returncode
    if early and late:
        most, least = [max(column) for column in zip(*early)], [min(column) for column in zip(*late)]
        print("files, threads, KiB: at most %d, %d, %d early, at least %d, %d, %d late" % (*most, *least))
        assert least[0] <= most[0] and least[1] <= most[1] and least[2] <= most[2] + SLACK_KIB, "the run grew"
    return process.returncode == 0


def read(name):
    with open(os.path.join(folder, name + ".safetensors"), "rb") as file:
        return file.read()


shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)
run("whole")
killed = sum(not run("killed", step) for step in sorted(draws.sample(range(6, steps * 2 // 3), kills)))
run("killed")
assert read("whole") == read("killed"), "other bits"
assert not [name for name in os.listdir(os.path.join(folder, "whole")) if name.endswith((".tmp", ".partial"))]
print("%d steps, %d kills, same bits" % (steps, killed))
