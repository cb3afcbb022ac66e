# SPDX-License-Identifier: Apache-2.0
"""The main job on a real example; see scripts/demo.sh.

usage: demo.py BIN_FOLDER
"""

import json
import os
import subprocess
import sys
import tempfile

STEPS = 20
TEXT = "/usr/share/common-licenses/GPL-3"
YAML = "examples/llama_tiny.yaml"
VARIANTS = {
    "none": "recompute_config.recompute=False",
    "selective": "recompute_config.select_recompute=True",
    "full": "recompute_config.recompute=True",
}


def run(*command, **options):
    print("$ " + " ".join(os.path.basename(part) if part == command[0] else part for part in command))
    sys.stdout.flush()
    subprocess.run(command, check=True, **options)


def measure(mf, folder, name, setting):
    """Trains with a setting; returns the run's report."""
    report, log = (os.path.join(folder, name + end) for end in (".json", ".log"))
    with open(log, "w") as output:
        run(mf, "train", YAML, "--set", setting, "--steps", str(STEPS), "--data", TEXT, "--json", report, stdout=output)
    with open(log) as file:
        lines = [line.rstrip() for line in file if "loss:" in line]
    for index in (0, 1, STEPS // 2, STEPS - 1):
        print("  " + lines[index][:150])
    with open(report) as file:
        return json.load(file)


def print_table(reports):
    row = "%-12s%14s%10s%12s%12s%12s"
    print(row % ("recompute", "peak bytes", "of none", "ms/step", "first loss", "last loss"))
    base = reports["none"]["ranks"][0]["peak_bytes"]
    for name, report in reports.items():
        rank, steps = report["ranks"][0], report["steps"]
        assert rank["peak_bytes"] <= rank["planned_bytes"]
        times = sorted(step["seconds"] for step in steps)
        print(
            row
            % (
                name,
                rank["planned_bytes"],
                "%.1f %%" % (100 * rank["planned_bytes"] / base),
                "%.1f" % (1000 * times[len(times) // 2]),
                "%.6f" % steps[0]["loss"],
                "%.6f" % steps[-1]["loss"],
            )
        )
    losses = {tuple(s["loss"] for s in r["steps"]) for r in reports.values()}
    print("losses of all steps are %s" % ("the same bits" if len(losses) == 1 else "DIFFERENT"))
    return len(losses) == 1


def main():
    folder = sys.argv[1]
    os.chdir(os.path.join(os.path.dirname(__file__), ".."))
    mf = os.path.join(folder, "mf")
    with tempfile.TemporaryDirectory(prefix="mf-demo-") as work:
        reports = {name: measure(mf, work, name, setting) for name, setting in VARIANTS.items()}
    # A step of a model that needs a cluster, in simulated time: a page for a browser.
    page = os.path.join(os.path.dirname(os.path.abspath(folder)), "demo.html")
    yaml = "test/data/mindformers/yamls/finetune_llama2_70b_bf16_32p.yaml"
    run(mf, "simulate", yaml, "--html", os.path.relpath(page), stdout=subprocess.DEVNULL)
    print()
    same = print_table(reports)
    print("\na step of Llama2-70B on 32 NPUs, its time and memory: open %s in a browser" % os.path.relpath(page))
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
