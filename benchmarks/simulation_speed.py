# SPDX-License-Identifier: Apache-2.0
"""Times simulating lowered files: wall and processor time, and memory.

usage: simulation_speed.py [--target=TARGET] [BIN_FOLDER [REPEATS]]

Llama3-70B on 8 tensor parallel ranks and 4 stages with 16 micro-batches, and
DeepSeek-V3 671B as its YAML says: 16 stages, 1,024 ranks, 32 micro-batches. Each
is imported and lowered once; then the whole of `mf-run --simulate` is timed, from
the file to the table, the least of several runs. Beside it are the seconds of SimuMax's
event mode for the same step, and their ratio to mf's processor time; other programs on
the machine change the wall time. mf should be 100 times faster than SimuMax, and take for
DeepSeek-V3 less than 1 s and 500 MB.
"""

import os
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
YAMLS = ROOT + "/test/data/mindformers/yamls/"

# The YAML is for 8 stages and 256 micro-batches.
LLAMA = {
    r"(?m)^  pipeline_stage: .*": "  pipeline_stage: 4",
    r"(?m)^  micro_batch_num: .*": "  micro_batch_num: 16",
    r"(?m)^  select_recompute: .*": "  select_recompute: True",
    r"(?m)^  select_comm_recompute: .*": "  select_comm_recompute: True",
}

# Name, YAML, changes, and SimuMax's seconds on a machine of two cores.
PROGRAMS = (
    ("Llama3-70B tp8 pp4 mbc16", "finetune_llama3_1_70b.yaml", LLAMA, "39", 39),
    ("DeepSeek-V3 671B pp16 mbc32", "pretrain_deepseek3_671b.yaml", {}, "> 390", 390),
)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("error: %s: %s" % (" ".join(command), done.stderr.strip()))
    return done


def lower(tools, yaml, changes, folder):
    with open(YAMLS + yaml) as file:
        text = file.read()
    for pattern, replacement in changes.items():
        text, count = re.subn(pattern, replacement, text)
        if count != 1:
            sys.exit("error: %s has %d lines %s, expected one" % (yaml, count, pattern))
    config, model, step = (os.path.join(folder, name) for name in (yaml, "model.mlir", yaml + ".mlir"))
    with open(config, "w") as file:
        file.write(text)
    run(tools + "mf-translate", "--import-mindformers", config, "-o", model)
    run(tools + "mf-opt", "--quiet", "--hbm=1024GB", "--recompute-config=" + config, model, "-o", step)
    return step


def measure(*command):
    """Wall and processor time in seconds, and the most memory in MB."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begin
    if status != 0:
        sys.exit("error: %s: %s" % (" ".join(command), errors.strip()))
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    arguments = sys.argv[1:]
    target = "--target=atlas-800t-a2"
    if arguments and arguments[0].startswith("--target="):
        target = arguments.pop(0)
    tools = (arguments[0] if arguments else ROOT + "/build/bin") + "/"
    repeats = int(arguments[1]) if len(arguments) > 1 else 5
    print("%-28s %8s %8s %8s %8s %10s %8s" % ("program", "file MB", "wall s", "cpu s", "MB", "SimuMax s", "ratio"))
    with tempfile.TemporaryDirectory() as folder:
        for name, yaml, changes, peer, seconds in PROGRAMS:
            step = lower(tools, yaml, changes, folder)
            runs = [measure(tools + "mf-run", "--simulate", target, step) for _ in range(repeats)]
            wall, cpu, memory = (min(column) for column in zip(*runs))
            size = os.path.getsize(step) / 1e6
            ratio = ("> " if peer.startswith(">") else "") + "%.0fx" % (seconds / cpu)
            print("%-28s %8.1f %8.3f %8.3f %8.0f %10s %8s" % (name, size, wall, cpu, memory, peer, ratio))


if __name__ == "__main__":
    main()
