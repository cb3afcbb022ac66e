#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Published layouts of one model: what was measured, and what mf predicts.

    benchmarks/layouts.py [ROWS.json] [--bin=build/bin] [--models=A,B] [--search=SECONDS]

The rows are those of ascend_throughput.py. Prints the tokens per second and NPU of
each row, published and predicted for its YAML as it is, then whether the rows of a
model are in the right order. With --search, mf-plan --devices chooses a layout for
each row with the devices and samples of its YAML, within this number of seconds. The
script then prints the best layout and the rank of the published layout.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

from ascend_throughput import ROOT, Bench, read_rows

MODELS = "llama2_70b,qwen1_5_14b,baichuan2_13b"
# Two measurements of one layout differ by this share.
NOISE = 0.02


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="?", default=os.path.join(ROOT, "test", "data", "mindformers", "ascend_throughput.json"))
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "bin"), help="where the tools are")
    parser.add_argument("--models", default=MODELS, help="names, or all (default: %s)" % MODELS)
    parser.add_argument("--search", type=float, help="choose layouts, within so many seconds each")
    return parser.parse_args()


def describe(row):
    layout = row["parallel"]
    names = [("dp", "data_parallel"), ("mp", "model_parallel"), ("cp", "context_parallel"), ("ep", "expert_parallel"), ("pp", "pipeline_stage")]
    sizes = [name + str(layout[key]) for name, key in names if layout[key] > 1 or name == "dp"]
    return " ".join(sizes) + " M%d" % layout["micro_batch_num_effective"]


def print_order(rows):
    """Rows that differ in the step that is simulated, or in the target."""
    right = counted = 0
    for i, a in enumerate(rows):
        for b in rows[i + 1 :]:
            if a["model"] != b["model"] or a["architecture"]["seq_length"] != b["architecture"]["seq_length"]:
                continue
            published = b["tokens_per_s_per_npu"] / a["tokens_per_s_per_npu"]
            predicted = b["predicted"] / a["predicted"]
            same = abs(predicted - 1) < 1e-9
            near = abs(published - 1) < NOISE
            verdict = "same step" if same else "published alike" if near else "right" if (published > 1) == (predicted > 1) else "WRONG"
            if not same and not near:
                counted += 1
                right += verdict == "right"
            print("  %-44s %-44s %6.3f %6.3f  %s" % (a["id"], b["id"], published, predicted, verdict))
    print("order right in %d of %d" % (right, counted))


def search(bench, row, seconds, folder):
    """What mf-plan chooses for the devices of a row."""
    source = os.path.join(os.path.dirname(os.path.abspath(bench.options.rows)), row["yaml"]["file"])
    with open(source) as file:
        text = file.read().replace("\nuse_parallel: False", "\nuse_parallel: True")
    path = os.path.join(folder, os.path.basename(source))
    with open(path, "w") as file:
        file.write(text)
    command = [bench.tool("mf-plan"), path, "--target=" + row["target"], "--devices=%d" % row["parallel"]["device_count"], "--time-limit=%g" % seconds, "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return done.stderr.strip().split("\n")[0]
    found = json.loads(done.stdout)
    best, given = found["layouts"][0], found.get("given", {})
    rank = "not planned"
    if given.get("rank"):
        planned = given["planned"]["tokens_per_second_per_npu"]
        rank = "rank %d%s, %.0f" % (given["rank"], " or more" if given["is_rank_least"] else "", planned)
    end = "" if found["is_complete"] else " (time ended)"
    return "best %s, %.0f; published layout planned: %s%s" % (best["name"], best["tokens_per_second_per_npu"], rank, end)


def main():
    options = parse_arguments()
    with open(options.rows) as file:
        rows = json.load(file)
    if options.models != "all":
        rows = [row for row in rows if row["model"] in options.models.split(",")]
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(options, rows, work)
        usable, refused = read_rows(bench)
        for row in refused:
            print("%s: %s" % (row["id"], row["problem"]), file=sys.stderr)
        print("%-44s %-22s %9s %9s" % ("row (tokens/s/NPU)", "layout", "published", "predicted"))
        for row in usable:
            row["predicted"] = bench.simulate(row, {})["tokens_per_second_per_npu"]
            print("%-44s %-22s %9.0f %9.0f" % (row["id"], describe(row), row["tokens_per_s_per_npu"], row["predicted"]), flush=True)
        print("\nrows of one model: tokens/s/NPU of the second in those of the first, published and predicted")
        print_order(usable)
        if not options.search:
            return
        print("\nlayouts that mf-plan chooses, tokens/s/NPU")
        for row in usable:
            print("%s (%s, published %.0f): %s" % (row["id"], describe(row), row["tokens_per_s_per_npu"], search(bench, row, options.search, work)), flush=True)


if __name__ == "__main__":
    main()
