#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicted against published throughput of Ascend clusters.

    benchmarks/ascend_throughput.py [ROWS.json] [--bin=build/bin]

ROWS.json has the form of test/data/mindformers/ascend_throughput.json. The YAML of a row is the file
yaml.file beside ROWS.json. Each YAML is lowered as it is and simulated on the target of
the row's hardware label. Prints the error of each row with where its time goes. Then prints the
errors on rows that were not fitted: the few numbers below are fitted to one half of the
rows and judged on the other half. Halves are drawn at random, and by model.

--fit prints, and with --output=FOLDER writes, targets fitted to all labelled
dense rows.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TARGETS = {"Atlas 800T A2": "atlas-800t-a2", "Atlas 900 A2 PoDc": "atlas-900-a2-podc"}
# The fitted numbers, in log space: name -> (paths that change together, the prior knowledge without
# the rows that are fitted: the value at a path, and the width of the prior around that value). The
# values are those of docs/sources.md (Ascend values). A cube's rate belongs to one label and is
# that of products.
PARAMETERS = {
    "cube 800T A2": ("engines.cube.*", 294.9e12 * 0.85, "engines.cube.bf16 kernels.matmul.peak_share", 0.10),
    "cube PoDc": ("engines.cube.*", 338e12 * 0.85, "engines.cube.bf16 kernels.matmul.peak_share", 0.10),
    "attention": ("kernels.attention*.peak_share", 0.41 / 0.85, "kernels.attention.peak_share", 0.12),
    "streaming": ("memory.bytes_per_second", 1.1e12, "memory.bytes_per_second", 0.12),
    "cache gain": ("memory.cache_gain", 0.8, "memory.cache_gain", 0.30),
    "fusion": ("kernels.*.fused_passes", 0.75, "kernels.elementwise.fused_passes", 0.20),
    "hccs rate": ("networks.hccs.collective_share", 13.4 / 28, "networks.hccs.collective_share", 0.12),
    "hccs hidden": ("networks.hccs.hidden", 0.28, "networks.hccs.hidden", 0.30),
}
# Older software, another branch, or a label that its figures contradict
# (see docs/simulator.md).
SUSPECT_WEIGHT = 0.5
TIER_WEIGHT = {"A": 1.0, "B": 2.0 / 3.0}
KINDS = [
    ("matmul", ("matmul", "grouped_matmul")),
    ("attn", ("attention", "attention_grad")),
    ("tp", (" over mp",)),
    ("dp", (" over dp",)),
    ("ep", ("all_to_all",)),
    ("pp", ("send", "receive")),
    ("host", ("host", "h2d", "d2h")),
]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="?", default=os.path.join(ROOT, "test", "data", "mindformers", "ascend_throughput.json"))
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "bin"), help="where mf-opt and mf-run are")
    parser.add_argument("--work", help="keep lowered steps here (default: a temporary folder)")
    parser.add_argument("--fit", action="store_true", help="fit all labelled dense rows and print the numbers")
    parser.add_argument("--output", help="with --fit: write the targets to this folder")
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=2, help="random halvings")
    parser.add_argument("--no-folds", action="store_true", help="only the shipped targets")
    return parser.parse_args()


class Bench:
    def __init__(self, options, rows, work):
        self.options, self.rows, self.work = options, rows, work
        self.paths = {}

    def tool(self, name):
        return os.path.join(self.options.bin, name)

    def lower(self, row):
        """The lowered step of a row's YAML, or what is wrong with it."""
        source = os.path.join(os.path.dirname(os.path.abspath(self.options.rows)), row["yaml"]["file"])
        stem = os.path.join(self.work, os.path.basename(source).removesuffix(".yaml"))
        lowered = stem + ".mlirbc"
        if os.path.exists(lowered):
            return lowered, None
        with open(source) as file:
            text = file.read()
        if row["parallel"]["device_count"] > 1 and "\nuse_parallel: False" in text:
            # The published command line has --use_parallel True.
            source = stem + ".yaml"
            with open(source, "w") as file:
                file.write(text.replace("\nuse_parallel: False", "\nuse_parallel: True"))
        for command in (
            [self.tool("mf-translate"), "--import-mindformers", source, "-o", stem + ".mlir"],
            [self.tool("mf-opt"), "--quiet", "--recompute-config=" + source, "--hbm=4096GB", "-emit-bytecode", stem + ".mlir", "-o", lowered],
        ):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                return None, done.stderr.strip().split("\n")[0]
        return lowered, None

    def simulate(self, row, values):
        report = os.path.join(self.work, "report-%s.json" % abs(hash((row["id"], tuple(sorted(values.items()))))))
        command = [self.tool("mf-run"), "--simulate", "--quiet", "--target=" + row["target"], "--report=" + report, row["lowered"]]
        command += ["--set=%s=%.17g" % item for item in sorted(values.items())]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit("%s: %s" % (row["id"], done.stderr.strip()))
        with open(report) as file:
            result = json.load(file)
        os.remove(report)
        return result

    def read_target(self, target):
        """The numbers of a shipped target by path."""
        text = subprocess.run([self.tool("mf-run"), "--list-parameters", "--target=" + target], capture_output=True, text=True, check=True).stdout
        return {path: float(value) for path, value in (line.split() for line in text.strip().split("\n"))}


def matches(path, pattern):
    if "*" not in pattern:
        return path == pattern
    head, tail = pattern.split("*")
    return path.startswith(head) and path.endswith(tail) and len(path) >= len(head) + len(tail)


def applies(name, row):
    return not name.startswith("cube ") or TARGETS.get("Atlas 800T A2" if "800T" in name else "Atlas 900 A2 PoDc") == row["target"]


class Fit:
    """Gauss-Newton in log space with weak priors and Huber's loss; the report of a
    training step has the derivative of its time by each number."""

    def __init__(self, bench):
        self.bench = bench
        self.start = {target: bench.read_target(target) for target in set(TARGETS.values())}
        self.reports = {}
        self.centre = np.array([self.find_centre(*item) for item in PARAMETERS.items()])

    def find_centre(self, name, parameter):
        """The logarithm of the known value in the shipped one."""
        _, known, paths, _ = parameter
        shipped = self.start[TARGETS["Atlas 900 A2 PoDc" if "PoDc" in name else "Atlas 800T A2"]]
        value = np.prod([shipped[path] for path in paths.split()])
        return np.log(known / (value / shipped["kernels.matmul.peak_share"] if name == "attention" else value))

    def values(self, row, logs):
        changed = {}
        for (name, (pattern, *_)), log in zip(PARAMETERS.items(), logs):
            if log == 0 or not applies(name, row):
                continue
            for path, value in self.start[row["target"]].items():
                if matches(path, pattern) and value != 0:
                    new = value * np.exp(log)
                    changed[path] = min(new, 1.0) if path.endswith("hidden") else new
        return changed

    def run(self, rows, logs):
        key = tuple(np.round(logs, 12))
        missing = [row for row in rows if (row["id"], key) not in self.reports]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for row, report in zip(missing, pool.map(lambda row: self.bench.simulate(row, self.values(row, logs)), missing)):
                self.reports[row["id"], key] = report
        return [self.reports[row["id"], key] for row in rows]

    def errors(self, rows, logs):
        return np.array([np.log(report["step_seconds"] / row["seconds"]) for row, report in zip(rows, self.run(rows, logs))])

    def jacobian(self, rows, logs):
        result = np.zeros((len(rows), len(PARAMETERS)))
        for i, (row, report) in enumerate(zip(rows, self.run(rows, logs))):
            for j, (name, (pattern, *_)) in enumerate(PARAMETERS.items()):
                if applies(name, row):
                    slope = sum(value for path, value in report["sensitivity"].items() if matches(path, pattern))
                    result[i, j] = slope / report["step_seconds"]
        return result

    def fit(self, rows):
        logs = self.centre
        widths = np.array([parameter[-1] for parameter in PARAMETERS.values()])
        noise, huber = 0.04, 0.06
        for _ in range(self.bench.options.iterations):
            errors, jacobian = self.errors(rows, logs), self.jacobian(rows, logs)
            fixed = errors - jacobian @ logs
            new = logs
            for _ in range(20):  # reweighting
                left = fixed + jacobian @ new
                weights = np.array([row["weight"] for row in rows]) * np.minimum(1, huber / np.maximum(np.abs(left), 1e-9))
                scaled = jacobian * (weights / noise**2)[:, None]
                new = np.linalg.solve(jacobian.T @ scaled + np.diag(1 / widths**2), self.centre / widths**2 - scaled.T @ fixed)
            change, logs = np.max(np.abs(new - logs)), new
            if change < 2e-3:
                break
        return logs


def read_rows(bench):
    usable, refused = [], []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        lowered = list(pool.map(bench.lower, bench.rows))
    for row, (path, problem) in zip(bench.rows, lowered):
        layout = row["parallel"]
        row["seconds"] = row["derived"]["implied_step_time_s"]
        row["dense"] = not row["architecture"].get("moe")
        row["labelled"] = row["hardware_label"] in TARGETS
        row["target"] = TARGETS.get(row["hardware_label"], "atlas-800t-a2")
        row["layout"] = "dp%d tp%d pp%d M%d" % (layout["data_parallel"], layout["model_parallel"], layout["pipeline_stage"], layout["micro_batch_num_effective"])
        row["suspect"] = row["yaml"]["date"] < "2024-06" or bool(row["notes"])
        row["weight"] = TIER_WEIGHT[row["tier"]] * (SUSPECT_WEIGHT if row["suspect"] else 1)
        row["lowered"] = path
        (usable if path else refused).append(row)
        row["problem"] = problem
    return usable, refused


def classify(kind):
    """The class of a kind of work: all_to_all exchanges the rows of experts, over any axes."""
    if kind.startswith("all_to_all"):
        return "ep"
    for name, parts in KINDS:
        if any(kind == part or part.startswith(" ") and part in kind for part in parts):
            return name
    return "vector"


def print_rows(rows, reports):
    names = [name for name, _ in KINDS] + ["vector"]
    print("%-46s %-22s %9s %9s %7s  " % ("row", "layout", "measured", "predicted", "error") + " ".join("%6s" % name for name in names))
    for row, report in zip(rows, reports):
        shares = dict.fromkeys(names, 0.0)
        for share in report["critical_path"]:
            name = classify(share["kind"])
            shares[name] += share["seconds"] / report["step_seconds"]
        mark = row["tier"] + ("" if row["labelled"] else "?") + ("" if row["dense"] else "e") + ("*" if row["suspect"] else "")
        print("%-46s %-22s %8.3fs %8.3fs %+6.1f%%  " % (row["id"][:42] + " " + mark, row["layout"], row["seconds"], report["step_seconds"], 100 * (report["step_seconds"] / row["seconds"] - 1))
              + " ".join("%5.1f%%" % (100 * shares[name]) for name in names))


def summarize(title, rows, errors):
    relative = np.abs(np.exp(errors) - 1) * 100
    tier = [error for row, error in zip(rows, relative) if row["tier"] == "A"]
    worst = int(np.argmax(relative))
    print("%-34s tier A %5.2f %% of %2d, all %5.2f %% of %2d, worst %5.1f %% (%s)" % (title, np.mean(tier) if tier else 0, len(tier), np.mean(relative), len(rows), relative[worst], rows[worst]["id"]))


def print_folds(fit, rows, seeds):
    """Errors on rows that were not fitted."""
    models = sorted({row["model"] for row in rows})
    halvings = []
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(rows))
        halvings.append(("random halves, seed %d" % seed, {rows[i]["id"] for i in order[: len(rows) // 2]}))
        order = np.random.default_rng(100 + seed).permutation(len(models))
        chosen = {models[i] for i in order[: len(models) // 2]}
        halvings.append(("halves by model, seed %d" % seed, {row["id"] for row in rows if row["model"] in chosen}))
    for title, first in halvings:
        left, right = [row for row in rows if row["id"] in first], [row for row in rows if row["id"] not in first]
        tested, errors = [], []
        for train, test in ((left, right), (right, left)):
            errors += list(fit.errors(test, fit.fit(train)))
            tested += test
        summarize(title, tested, np.array(errors))


def print_pairs(rows, reports):
    """Rows of one model that differ in a knob or the label: is the order right?"""
    print("\npairs of one model and sequence length, measured and predicted tokens/s per NPU of the second in those of the first")
    right = wrong = 0
    for i, a in enumerate(rows):
        for j in range(i + 1, len(rows)):
            b = rows[j]
            same = all(a["architecture"][key] == b["architecture"][key] for key in ("seq_length", "num_layers", "hidden_size"))
            if a["model"] != b["model"] or not same or not (a["labelled"] and b["labelled"]):
                continue
            if a["yaml"]["file"] == b["yaml"]["file"] and a["target"] == b["target"]:
                continue
            measured = b["tokens_per_s_per_npu"] / a["tokens_per_s_per_npu"]
            predicted = reports[j]["tokens_per_second_per_npu"] / reports[i]["tokens_per_second_per_npu"]
            agrees = (measured > 1) == (predicted > 1)
            # Published again later, with other software: the step is the same.
            same_step = abs(predicted - 1) < 1e-9
            close = abs(measured - 1) < 0.02 or same_step
            right, wrong = right + (agrees and not close), wrong + (not agrees and not close)
            print("  %-44s %-44s %5.3f %5.3f %s" % (a["id"], b["id"], measured, predicted, "same step" if same_step else "within noise" if close else "right" if agrees else "WRONG"))
    print("order right in %d of %d" % (right, right + wrong))


def main():
    options = parse_arguments()
    with open(options.rows) as file:
        rows = json.load(file)
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or temporary
        os.makedirs(work, exist_ok=True)
        bench = Bench(options, rows, work)
        usable, refused = read_rows(bench)
        fit = Fit(bench)
        start = np.zeros(len(PARAMETERS))
        reports = fit.run(usable, start)
        print_rows(usable, reports)
        for row in refused:
            print("%-46s not lowered: %s" % (row["id"], row["problem"]))
        print()
        dense = [row for row in usable if row["dense"] and row["labelled"]]
        summarize("shipped targets", dense, fit.errors(dense, start))
        summarize("known values, nothing fitted", dense, fit.errors(dense, fit.centre))
        if not options.no_folds:
            print_folds(fit, dense, options.seeds)
        if options.fit:
            logs = fit.fit(dense)
            summarize("fitted to all", dense, fit.errors(dense, logs))
            for (name, (pattern, *_)), log in zip(PARAMETERS.items(), logs):
                print("  %-14s x %.4f  %s" % (name, np.exp(log), pattern))
            if options.output:
                os.makedirs(options.output, exist_ok=True)
                for target in sorted(set(TARGETS.values())):
                    values = fit.values({"target": target}, logs)
                    subprocess.run([bench.tool("mf-run"), "--print-target", "--target=" + target, "-o", os.path.join(options.output, target + ".mlir")] + ["--set=%s=%.6g" % item for item in values.items()], check=True)
        print_pairs(usable, reports)


if __name__ == "__main__":
    main()
