# SPDX-License-Identifier: Apache-2.0
"""Measured steps of Megatron-LM on 8 B200 beside our lowered programs.

usage: b200.py [--memory | --fit | --hold-out TIMES] [--target NAME] [--bin FOLDER] [--keep FOLDER] [--jobs N] [ROWS.json]

Each row of ROWS.json (test/data/b200_measured.json) is written as a training
YAML (b200/layouts.py), imported, lowered, its memory counted as torch counts it
(b200/allocations.py) and its time simulated (b200/waiting.py). --fit fits the
target's numbers to all rows and prints them; --hold-out fits to random halves of
the layouts and, leaving out one at a time, to all models but one, and prints the
errors on the rows that were not fitted. These two need numpy. docs/dev/b200.md has
what is printed.
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
import waiting
from simulator import Simulator

PASSES = "builtin.module(mf-training-step{config=%s hbm=1024GB cast-once=true fuse-accumulation=true})"


def run(command, **arguments):
    done = subprocess.run(command, capture_output=True, text=True, **arguments)
    if done.returncode:
        sys.exit("%s\n%s" % (" ".join(command), done.stderr.strip()[-4000:]))
    return done.stdout


def get_layout(row):
    """Rows that differ in micro-batches alone have one layout."""
    return tuple(row[key] for key in ("model", "layers", "seq", "tp", "cp", "pp", "ep", "dp", "mbs"))


def lower(bin_folder, row, folder):
    """The paths of the row's lowered program, and of the same with Megatron's waits."""
    yaml, model, step = (os.path.join(folder, row["case"] + end) for end in (".yaml", ".mlir", ".step.mlir"))
    with open(yaml, "w") as file:
        file.write(layouts.write_yaml(row))
    translate = os.path.join(bin_folder, "mf-translate")
    imported = run([translate, "--import-mindformers", "--expert-room=1", yaml])
    with open(model, "w") as file:
        file.write(layouts.as_megatron(imported))
    run([os.path.join(bin_folder, "mf-opt"), "--pass-pipeline=" + PASSES % yaml, model, "-o", step])
    waits = os.path.join(folder, row["case"] + ".waits.mlir")
    with open(step) as file, open(waits, "w") as changed:
        changed.write(waiting.as_megatron(file.read()))
    return step, waits


def get_measured(row):
    """Measured bytes of the fullest rank of each stage."""
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
    print_means("%-54s %25s %6.2f%% %8.2f%%", errors, theirs)


def print_means(form, errors, theirs):
    print(form % ("mean of absolute errors", "", sum(map(abs, errors)) / len(errors), sum(map(abs, theirs)) / len(theirs)))
    print(form % ("largest", "", max(map(abs, errors)), max(map(abs, theirs))))


def get_kinds(report, number=4):
    """Where the time of the busiest stage goes, in percent of the step."""
    stage = max(report["stages"], key=lambda stage: stage["busy_seconds"])
    kinds = dict(stage["seconds_by_kind"], bubble=stage["bubble_seconds"])
    largest = sorted(kinds.items(), key=lambda entry: -entry[1])[:number]
    return ", ".join("%s %.0f" % (kind, 100 * seconds / report["step_seconds"]) for kind, seconds in largest)


def print_times(rows, reports):
    print("\n%-54s %12s %12s %7s %9s  %s" % ("step, ms", "measured", "simulated", "error", "SimuMax", "% of the step"))
    errors, theirs = [], []
    for row, report in zip(rows, reports):
        simulated = 1e3 * report["step_seconds"]
        errors.append(100 * (simulated / row["real_ms"] - 1))
        theirs.append(100 * (row["my_perf_ms"] / row["real_ms"] - 1))
        print(
            "%-54s %12.1f %12.1f %6.2f%% %8.2f%%  %s"
            % (row["case"], row["real_ms"], simulated, errors[-1], theirs[-1], get_kinds(report))
        )
    print_means("%-54s %25s %6.2f%% %8.2f%%", errors, theirs)


def print_fit(fit, rows):
    logs = fit.run(range(len(rows)))
    errors = fit.get_percents(logs, range(len(rows)))
    print("fitted to all rows: mean of absolute errors %.2f %%, largest %.2f %%" % (abs(errors).mean(), abs(errors).max()))
    for path, before, after in zip(fit.paths, fit.get_numbers(fit.start).values(), fit.get_numbers(logs).values()):
        print("  %-44s %10.4g -> %10.4g" % (path, before, after))


def print_held_out(fit, rows, times):
    """Fits to parts of the rows, from where the fit to all of them has its slopes."""
    import fitting

    groups = {}
    for index, row in enumerate(rows):
        groups.setdefault(get_layout(row), []).append(index)
    logs = fit.run(range(len(rows)))
    everything = []
    for fitted, held in fitting.get_halves(groups, times):
        everything += list(fit.run_near(fitted, logs)[1][held])
    form = "%-44s mean of absolute errors %5.2f %%, largest %5.2f %%"
    print(form % ("%d random halves of the layouts" % (2 * times), *fitting.get_sizes(everything)))
    everything = []
    for held in groups.values():
        fitted = [index for index in range(len(rows)) if index not in held]
        everything += list(fit.run_near(fitted, logs)[1][held])
    print(form % ("all layouts but one", *fitting.get_sizes(everything)))
    for model in sorted({row["model"] for row in rows}):
        held = [index for index, row in enumerate(rows) if row["model"] == model]
        fitted = [index for index in range(len(rows)) if index not in held]
        if fitted:
            print(form % ("all models but " + model, *fitting.get_sizes(fit.run_near(fitted, logs)[1][held])))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "bin"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--target", default="b200", help="what is simulated: b200, or a file")
    parser.add_argument("--memory", action="store_true", help="count memory only")
    parser.add_argument("--fit", action="store_true", help="fit the target's numbers to all rows")
    parser.add_argument("--hold-out", type=int, default=0, metavar="TIMES", help="fit to halves of the rows")
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
            counted = list(pool.map(count, [step for step, _ in steps], rows))
        print_memory(rows, counted)
        if options.memory:
            return
        simulator = Simulator(options.bin, options.target, options.jobs)
        waits = [path for _, path in steps]
        print_times(rows, simulator.simulate_all(waits, {}))
        if options.fit or options.hold_out:
            import fitting

            fit = fitting.Fit(simulator, waits, [row["real_ms"] / 1e3 for row in rows])
            if options.fit:
                print_fit(fit, rows)
            if options.hold_out:
                print_held_out(fit, rows, options.hold_out)


if __name__ == "__main__":
    main()
