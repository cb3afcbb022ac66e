#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the ways to save memory cost on a training YAML, from light to heavy.

usage: memory_recipes.py [--bin=build/bin] [--target=atlas-800t-a2] TRAIN.yaml

Replaces the settings of recompute, swap and layers per stage by one recipe after another,
compiles each step, and prints the memory of the fullest stage, the seconds of a step, and
what each GiB that is saved costs beside keeping everything.
"""

import argparse
import copy
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOTHING = {"recompute": False, "select_recompute": False, "select_comm_recompute": False}


def make_recipes(config):
    """[(name, change of recompute_config, swap_config or nothing)]."""
    communication = {**NOTHING, "select_comm_recompute": True}
    activations = {**NOTHING, "select_recompute": True}
    layers = get_layers(config)
    parts = len(layers)
    half = {**communication, "recompute": [count // 2 for count in layers]}
    swap = {"swap": True, "op_swap": [{"op_name": r".*(attention|feed_forward)\..*", "backward_prefetch": 1, "layers": True}]}
    recipes = [
        ("keep everything", NOTHING, None),
        ("recompute activations of the feed-forward", activations, None),
        ("recompute norms and gathers of the sequence", communication, None),
        ("both", {**activations, "select_comm_recompute": True}, None),
    ]
    if parts > 1:
        # 1F1B keeps more micro-batches on earlier stages.
        fewer = {**communication, "recompute": [count * (parts - stage - 1) // max(1, parts - 1) for stage, count in enumerate(layers)]}
        recipes.append(("recompute all layers of stage 0, fewer of each next", fewer, None))
    return recipes + [
        ("recompute half of the layers", half, None),
        ("recompute all layers", {**NOTHING, "recompute": True}, None),
        ("swap what attention and feed-forward keep", NOTHING, swap),
    ]


def get_layers(config):
    """Layers of each stage."""
    stages = config.get("parallel_config", {}).get("pipeline_stage", 1)
    model = config["model"]["model_config"]
    layers = model["num_layers"]
    offset = model.get("offset", 0)
    offset = offset if isinstance(offset, list) else [0] * stages
    flat = [sum(entry) if isinstance(entry, list) else entry for entry in offset]
    return [layers // stages + extra for extra in flat] if len(flat) == stages else [layers // stages] * stages


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        errors = [line for line in done.stderr.split("\n") if "error: " in line]
        raise RuntimeError(errors[0].split("error: ")[-1] if errors else "failed")
    return done.stdout


def measure(options, config, folder):
    """GiB of the fullest stage, and seconds of a step."""
    source = folder / "train.yaml"
    # `1.e-8` is a number in YAML, `1e-08` a text.
    source.write_text(re.sub(r"(?m)(: \d+)(e[-+]?\d+)$", r"\1.0\2", yaml.safe_dump(config, sort_keys=False)))
    run([f"{options.bin}/mf-translate", "--import-mindformers", source, "-o", folder / "model.mlir"])
    run([f"{options.bin}/mf-opt", "--quiet", "--hbm=none", f"--recompute-config={source}", "-emit-bytecode", folder / "model.mlir", "-o", folder / "step.mlirbc"])
    run([f"{options.bin}/mf-run", "--simulate", "--quiet", f"--target={options.target}", f"--report={folder / 'report.json'}", folder / "step.mlirbc"])
    report = json.loads((folder / "report.json").read_text())
    return max(stage["peak_bytes"] for stage in report["stages"]) / 2**30, report["step_seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("yaml")
    parser.add_argument("--bin", default=ROOT / "build" / "bin")
    parser.add_argument("--target", default="atlas-800t-a2")
    options = parser.parse_args()
    config = yaml.safe_load(pathlib.Path(options.yaml).read_text())
    print("%-54s %8s %9s %8s %10s" % ("recipe", "GiB", "s", "of first", "% per GiB"))
    first = None
    with tempfile.TemporaryDirectory() as folder:
        for name, recompute, swap in [("as the YAML has it", None, None)] + make_recipes(config):
            changed = copy.deepcopy(config)
            if recompute is not None:
                changed["recompute_config"] = {**changed.get("recompute_config", {}), **recompute}
                changed.pop("swap_config", None)
            if swap:
                changed["swap_config"] = swap
            try:
                memory, seconds = measure(options, changed, pathlib.Path(folder))
            except RuntimeError as error:
                print("%-54s %s" % (name, error))
                continue
            if recompute is not None and first is None:
                first = memory, seconds
            if recompute is None or (memory, seconds) == first:
                print("%-54s %8.2f %9.3f" % (name, memory, seconds))
                continue
            saved, slower = first[0] - memory, 100 * (seconds / first[1] - 1)
            print("%-54s %8.2f %9.3f %+7.1f%% %10s" % (name, memory, seconds, slower, "%.2f" % (slower / saved) if saved > 0.005 else "-"))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
