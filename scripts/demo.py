# SPDX-License-Identifier: Apache-2.0
"""The main job on a real example; see scripts/demo.sh.

usage: demo.py BIN_FOLDER
"""

import json
import os
import re
import subprocess
import sys
import tempfile

STEPS = 20
TEXT = "/usr/share/common-licenses/GPL-3"
VARIANTS = [
    ("none", "recompute: False"),
    ("selective", "select_recompute: True"),
    ("full", "recompute: True"),
]


def run(*command, **options):
    print("$ " + " ".join(os.path.basename(part) for part in command))
    sys.stdout.flush()
    subprocess.run(command, check=True, **options)


def with_recompute(text, setting):
    """The example's YAML with another recompute_config."""
    section = "recompute_config:\n  " + setting + "\n"
    return re.sub(r"recompute_config:\n(?:  .*\n)*", section, text)


def measure(folder, tools, model, name, setting):
    """Trains with one setting; returns the run's report."""
    yaml, step, report = (
        os.path.join(folder, name + e) for e in (".yaml", ".mlir", ".json")
    )
    with open("examples/llama_tiny.yaml") as source, open(yaml, "w") as target:
        target.write(with_recompute(source.read(), setting))
    run(tools("mf-opt"), "--quiet", "--recompute-config=" + yaml, model, "-o", step)
    log = os.path.join(folder, name + ".log")
    with open(log, "w") as output:
        run(
            tools("mf-run"), step, "--steps", str(STEPS), "--data", TEXT,
            "--report", report, stdout=output,
        )  # fmt: skip
    lines = [line.rstrip() for line in open(log) if "loss:" in line]
    for index in (0, 1, STEPS // 2, STEPS - 1):
        print("  " + lines[index][:150])
    return json.load(open(report))


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


def write_page(work, tools, page):
    """A step of a model that needs a cluster, in simulated time: a page for a browser."""
    yaml = "test/data/mindformers/yamls/finetune_llama2_70b_bf16_32p.yaml"
    model, step = os.path.join(work, "llama2_70b.mlir"), os.path.join(work, "llama2_70b_on_32_npus.mlirbc")
    run(tools("mf-translate"), "--import-mindformers", yaml, "-o", model)
    run(tools("mf-opt"), "--quiet", "--recompute-config=" + yaml, "-emit-bytecode", model, "-o", step)
    run(tools("mf-run"), "--simulate", "--quiet", "--target=atlas-800t-a2", "--html=" + page, step)


def main():
    folder = sys.argv[1]
    os.chdir(os.path.join(os.path.dirname(__file__), ".."))

    def tools(name):
        return os.path.join(folder, name)

    with tempfile.TemporaryDirectory(prefix="mf-demo-") as work:
        model = os.path.join(work, "llama_tiny.mlir")
        run(tools("mf-translate"), "--import-mindformers", "examples/llama_tiny.yaml", "-o", model)
        reports = {
            name: measure(work, tools, model, name, setting) for name, setting in VARIANTS
        }
        page = os.path.join(os.path.dirname(os.path.abspath(folder)), "demo.html")
        write_page(work, tools, page)
    print()
    same = print_table(reports)
    print("\na step of Llama2-70B on 32 NPUs, its time and memory: open %s in a browser" % os.path.relpath(page))
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
