"""Measured steps of Megatron-LM on 8 B200 beside our lowered programs.

usage: b200.py [--bin FOLDER] [--memory] [--fit] [--jobs N] [ROWS.json]

Each row of ROWS.json (test/data/b200_measured.json) is written as a training
YAML (b200/layouts.py), imported, lowered, and its memory counted as torch counts
it (b200/allocations.py). docs/b200.md has what is printed.
"""

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "benchmarks", "b200"))

import allocations
import layouts

PASSES = "builtin.module(mf-training-step{config=%s hbm=1024GB cast-once=true fuse-accumulation=true})"


def run(command, **arguments):
    done = subprocess.run(command, capture_output=True, text=True, **arguments)
    if done.returncode:
        sys.exit("%s\n%s" % (" ".join(command), done.stderr.strip()[-4000:]))
    return done.stdout


def get_layout(row):
    """What the lowered program depends on, so that it is lowered once for all rows that have it in common."""
    return tuple(row[key] for key in ("model", "layers", "seq", "tp", "cp", "pp", "ep", "dp", "mbs", "mbc", "gpus"))


def lower(bin_folder, row, folder):
    """The path of the row's lowered program."""
    yaml, model, step = (os.path.join(folder, row["case"] + end) for end in (".yaml", ".mlir", ".step.mlir"))
    with open(yaml, "w") as file:
        file.write(layouts.write_yaml(row))
    translate = os.path.join(bin_folder, "mf-translate")
    imported = run([translate, "--import-mindformers", "--expert-room=1", yaml])
    with open(model, "w") as file:
        file.write(layouts.as_megatron(imported))
    run([os.path.join(bin_folder, "mf-opt"), "--pass-pipeline=" + PASSES % yaml, model, "-o", step])
    return step


def get_measured(row):
    """Bytes of the fullest rank of each stage."""
    values = [value * 2**20 for value in row["rank_mb"].values()]
    ranks = len(values) // row["pp"]
    return [max(values[stage * ranks : (stage + 1) * ranks]) for stage in range(row["pp"])]


def count(step, row, overheads=allocations.Overheads()):
    """Bytes that each stage allocates at most."""
    sizes = layouts.MODELS[row["model"]]
    with open(step) as file:
        stages = allocations.read_stages(file.read())
    return [stage.get_peak(overheads.get_bytes(row, sizes, stage.get_dummies())) for stage in stages]


def print_memory(rows, counted):
    print("%-54s %12s %12s %7s %9s" % ("memory of the fullest rank, GiB", "measured", "counted", "error", "SimuMax"))
    errors, theirs = [], []
    for row, peaks in zip(rows, counted):
        measured = max(get_measured(row))
        errors.append(100 * (max(peaks) / measured - 1))
        theirs.append(100 * (row["my_alloc"] / row["real_alloc_gib"] - 1))
        print(
            "%-54s %12.2f %12.2f %6.2f%% %8.2f%%"
            % (row["case"], measured / 2**30, max(peaks) / 2**30, errors[-1], theirs[-1])
        )
    for name, take in (("mean of absolute errors", lambda e: sum(map(abs, e)) / len(e)), ("largest", lambda e: max(map(abs, e)))):
        print("%-54s %12s %12s %6.2f%% %8.2f%%" % (name, "", "", take(errors), take(theirs)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "bin"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", help="folder to keep YAMLs and programs in")
    parser.add_argument("rows", nargs="?", default=os.path.join(ROOT, "test", "data", "b200_measured.json"))
    options = parser.parse_args()
    with open(options.rows) as file:
        rows = json.load(file)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or temporary
        os.makedirs(folder, exist_ok=True)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            steps = list(pool.map(lambda row: lower(options.bin, row, folder), rows))
        with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
            counted = list(pool.map(count, steps, rows))
        print_memory(rows, counted)


if __name__ == "__main__":
    main()
