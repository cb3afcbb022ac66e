"""What each recompute option keeps per layer: planned, and executed.

usage: kept_bytes.py [BIN_FOLDER]

Lowers examples/llama_tiny.yaml with each option and runs one step with
--debug-memory. "kept per layer" is what the program's frame holds of the second
layer for one micro-batch; "arena" is what the plan asks for; "peak" is what was
allocated at once, and "touched" how far into the arena execution wrote or read.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TEXT = "/usr/share/common-licenses/GPL-3"

OPTIONS = [
    ("nothing", "recompute: False"),
    ("select_recompute: True", "select_recompute: True"),
    ("select: norms", r"select_recompute: ['attention_norm\.norm', 'ffn_norm\.norm']"),
    ("select: feed_forward", "select_recompute: ['feed_forward']"),
    ("select: attention", "select_recompute: ['attention']"),
    ("recompute: [2]", "recompute: [2]"),
    ("recompute: True", "recompute: True"),
]


def main():
    folder = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ROOT + "/build/bin")

    def run(tool, *arguments):
        command = [os.path.join(folder, tool), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stderr

    row = "%-24s%16s%12s%12s%12s"
    print(row % ("option", "kept per layer", "arena", "peak", "touched"))
    with open(ROOT + "/examples/llama_tiny.yaml") as file:
        text = file.read()
    with tempfile.TemporaryDirectory() as work:
        yaml, model, step, report = (
            os.path.join(work, name)
            for name in ("train.yaml", "model.mlir", "step.mlir", "report.json")
        )
        for name, setting in OPTIONS:
            section = "recompute_config:\n  " + setting + "\n"
            with open(yaml, "w") as file:
                file.write(re.sub(r"recompute_config:\n(?:  .*\n)*", lambda _: section, text))
            run("mf-translate", "--import-mindformers", yaml, "-o", model)
            run("mf-opt", "--quiet", "--recompute-config=" + yaml, model, "-o", step)
            memory = run(
                "mf-opt", "--ascend-print-memory",
                step, "-o", os.devnull,
            )  # fmt: skip
            kept = int(re.search(r"layers\.1 +(\d+)", memory)[1])
            run(
                "mf-run", step, "--steps", "1", "--data", TEXT, "--debug-memory",
                "--report", report, "--quiet",
            )  # fmt: skip
            with open(report) as file:
                rank = json.load(file)["ranks"][0]
            print(
                row % (name, kept, rank["planned_bytes"], rank["peak_bytes"], rank["used_bytes"])
            )


if __name__ == "__main__":
    main()
