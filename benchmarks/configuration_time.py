# SPDX-License-Identifier: Apache-2.0
"""Times reading a YAML and applying it to 96 layers: read, partition and mark.

usage: configuration_time.py [BIN_FOLDER [REPEATS]]

Prints milliseconds, the least of several runs, of three things. The first is the three
passes as mf-opt times them, log lines included. The second is the difference in processor
time between the program with and without the passes, which other programs on the machine
change little. The third is the whole program with start-up, parsing the model and printing it. The target is less than 50 ms
for the three passes.
"""

import os
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MODEL = ROOT + "/test/data/mindformers/yamls/finetune_telechat_115b.yaml"

PATTERNS = r"""
recompute_config:
  recompute: [2, True, 0, 3]
  select_recompute:
    'feed_forward\.mul': True
    '.*\..*\.(matmul|reshape|cast)': True
    'attention\.w[a-z_]+\.cast': [12, 6, 3, 0]
  select_comm_recompute: True
  select_recompute_exclude: ['feed_forward\.w2\.matmul']
parallel_config:
  pipeline_stage: 4
  micro_batch_num: 8
"""

SWAP = r"""
recompute_config:
  select_recompute:
    'feed_forward\.mul': [0, 5, 17, 95]
swap_config:
  swap: True
  layer_swap:
    - {backward_prefetch: 20, layers: [0, 3, 90]}
  op_swap:
    - {op_name: ['attention', 'feed_forward'], backward_prefetch: 10, layers: True}
"""

PASSES = (
    "builtin.module(mf-read-config{file=%s quiet=false},"
    "mf.model(mf-partition,mf-mark-memory{quiet=false}))"
)


def measure_cpu(*command):
    """Processor time of a command in milliseconds."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit("error: %s failed" % " ".join(command))
    return 1e3 * (usage.ru_utime + usage.ru_stime)


def measure(tool, config, model):
    start = time.time()
    result = subprocess.run(
        [tool, "--mlir-timing", "--mlir-timing-display=list",
         "--pass-pipeline=" + PASSES % config, model, "-o", os.devnull],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    process = 1e3 * (time.time() - start)
    times = []
    for name in ("ReadConfig", "Partition", "MarkMemory"):
        seconds = re.search(r"([\d.]+) \([^)]*\)  %s$" % name, result.stderr, re.MULTILINE)[1]
        times.append(1e3 * float(seconds))
    return [*times, sum(times), process]


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else ROOT + "/build/bin"
    repeats = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    with tempfile.TemporaryDirectory() as work:

        def write(name, text):
            path = os.path.join(work, name)
            with open(path, "w") as file:
                file.write(text)
            return path

        model = os.path.join(work, "model.mlir")
        translate = os.path.join(folder, "mf-translate")
        imports = [translate, "--import-mindformers", MODEL, "-o", model]
        subprocess.run(imports, check=True, capture_output=True)
        tool = os.path.join(folder, "mf-opt")
        alone = min(measure_cpu(tool, model, "-o", os.devnull) for _ in range(repeats))
        header = ("YAML", "read", "partition", "mark", "together", "cpu", "process")
        print("%-14s%8s%11s%8s%10s%8s%10s" % header)
        for name, config in (
            ("TeleChat 115B", MODEL),
            ("patterns", write("patterns.yaml", PATTERNS)),
            ("swap", write("swap.yaml", SWAP)),
        ):
            runs = [measure(tool, config, model) for _ in range(repeats)]
            passes = "--pass-pipeline=" + PASSES % config
            cpu = min(measure_cpu(tool, passes, model, "-o", os.devnull) for _ in range(repeats))
            *times, process = min(runs, key=lambda run: run[3])
            row = "%-14s%8.1f%11.1f%8.1f%10.1f%8.1f%10.1f"
            print(row % (name, *times, cpu - alone, process), flush=True)


if __name__ == "__main__":
    main()
