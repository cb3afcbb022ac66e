"""The four documented swap examples, planned and executed.

usage: swap_examples.py [BIN_FOLDER]

Lowers examples/llama_tiny.yaml (four layers, as in the documentation) without
swap and with each swap_config of MindSpore Transformers' page on memory
optimization, and runs one step with --debug-memory. "arena" is what the plan
asks for, "touched" how far into it execution went, "saved" both against no
swap; "host" is pinned host memory as planned and as touched. Fails if what is
touched differs from the plan, or a loss from that without swap.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TEXT = "/usr/share/common-licenses/GPL-3"

OP_SWAP = """swap_config:
  swap: True
  op_swap:
    - op_name: 'attention'
      backward_prefetch: 20
      layers: [0,1,2]
    - op_name: 'attention'
      backward_prefetch: 10
      layers: [3]
    - op_name: 'feed_forward'
      backward_prefetch: 15
      layers: [1,2]
"""
KEEP = "recompute_config:\n  recompute: False\n  select_recompute: False\n"
EXAMPLES = [
    ("no swap", KEEP),
    ("1: default policy", KEEP + "swap_config:\n  swap: True\n  default_prefetch: 10\n"),
    (
        "2: layer_swap",
        KEEP + "swap_config:\n  swap: True\n  layer_swap:\n"
        "    - backward_prefetch: 20\n      layers: [0,3]\n",
    ),
    ("3: op_swap", KEEP + OP_SWAP),
    (
        "4: op_swap, recompute",
        "recompute_config:\n  recompute: False\n  select_recompute:\n"
        "    'feed_forward': [0,3]\n" + OP_SWAP,
    ),
]


def measure(folder, work, text, sections):
    """Lowers and runs one step; the loss and the report of rank 0."""

    def run(tool, *arguments):
        command = [os.path.join(folder, tool), *arguments]
        subprocess.run(command, check=True, capture_output=True)

    yaml, model, step, report = (
        os.path.join(work, name)
        for name in ("train.yaml", "model.mlir", "step.mlir", "report.json")
    )
    with open(yaml, "w") as file:
        file.write(re.sub(r"recompute_config:\n(?:  .*\n)*", lambda _: sections, text))
    run("mf-translate", "--import-mindformers", yaml, "-o", model)
    run("mf-opt", "--quiet", "--recompute-config=" + yaml, model, "-o", step)
    run("mf-run", step, "--steps", "1", "--data", TEXT, "--debug-memory",
        "--report", report, "--quiet")  # fmt: skip
    with open(report) as file:
        result = json.load(file)
    return result["steps"][0]["loss"], result["ranks"][0]


def main():
    folder = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ROOT + "/build/bin")
    row = "%-24s%12s%12s%12s%12s%12s%12s"
    print(row % ("example", "arena", "saved", "touched", "saved", "host", "touched"))
    with open(ROOT + "/examples/llama_tiny.yaml") as file:
        text = file.read()
    failures = 0
    with tempfile.TemporaryDirectory() as work:
        base = None
        for name, sections in EXAMPLES:
            loss, rank = measure(folder, work, text, sections)
            base = base or (loss, rank)
            planned, touched = rank["planned_bytes"], rank["used_bytes"]
            print(
                row
                % (
                    name,
                    planned,
                    base[1]["planned_bytes"] - planned,
                    touched,
                    base[1]["used_bytes"] - touched,
                    rank["host_bytes"],
                    rank["host_used_bytes"],
                )
            )
            failures += planned != touched or loss != base[0]
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
