# SPDX-License-Identifier: Apache-2.0
"""Imports, partitions, marks and shards every YAML of a folder with the tools.

usage: every_yaml.py WORK_FOLDER YAML_FOLDER...

Prints a row per file, in the order of their names: the layers, interleaves and
stages, which layers are placed as the stage map says, how many layers are
recomputed whole and how many operators and collectives by pattern, how many
ranks share the model out, and the collectives of a layer in forward; or why the
file is refused.
"""

import collections
import math
import os
import re
import subprocess
import sys

PASSES = (
    "builtin.module(mf-read-config{file=%s quiet=false},"
    "mf.model(mf-partition,mf-propagate-layouts,mf-lower-reshards,mf-mark-memory{quiet=false},mf-localize))"
)
COLLECTIVE = re.compile(r"mf\.(all_reduce|all_gather|reduce_scatter|all_to_all) ")
# An operator that joins embeddings and hidden states counts with the layer behind it.
PLACE = re.compile(r"mf\.layer @(?!mtp_hidden_fusers)\S+ body .*placement = #mf\.placement<stage = (\d+), chunk = (\d+)>")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True)


def get_first_error(text):
    match = re.search(r"error: (.*)", text)
    return match[1] if match else "no message\n" + text


def count_placed(ir, rows):
    """The stage map as the layers of `ir` have it, in the shape of `rows`."""
    counts = [[0] * len(row) for row in rows]
    for stage, chunk in PLACE.findall(ir):
        counts[int(chunk)][int(stage)] += 1
    return counts


def check(path, work):
    model = os.path.join(work, "model.mlir")
    imported = run("mf-translate", "--import-mindformers", path, "-o", model)
    if imported.returncode != 0:
        return "refused: " + get_first_error(imported.stderr)
    marked = run("mf-opt", "--pass-pipeline=" + PASSES % path, model)
    if marked.returncode != 0:
        return "not marked: " + get_first_error(marked.stderr)
    map_text = re.search(r"num_layers per stage: (.*)", marked.stderr)[1]
    rows = [[int(n) for n in re.findall(r"\d+", row)] for row in re.findall(r"\[([^][]+)\]", map_text)]
    placed = count_placed(marked.stdout, rows)
    if placed != rows:
        return "layers are placed as %s, but the map is %s" % (placed, rows)
    layers = marked.stdout.split("mf.layer @")[1:]
    full = sum("recompute = #mf.recompute<full>" in layer for layer in layers)
    select = marked.stdout.count("recompute = #mf.recompute<select>")
    mesh = re.search(r"mf\.mesh = #mf\.mesh<([^>]*)>", marked.stdout)
    ranks = math.prod(map(int, re.findall(r"= (\d+)", mesh[1]))) if mesh else len(rows[0])
    body = next(layer for layer in layers if " body " in layer.splitlines()[0])
    counts = collections.Counter(COLLECTIVE.findall(body))
    collectives = "".join(", %d %s" % (count, kind) for kind, count in sorted(counts.items()))
    return "%d layers, %d x %d, %d full, %d operators, %d ranks%s" % (
        sum(map(sum, rows)), len(rows), len(rows[0]), full, select, ranks, collectives
    )  # fmt: skip


def main():
    work, *folders = sys.argv[1:]
    os.makedirs(work, exist_ok=True)
    for folder in folders:
        for name in sorted(os.listdir(folder)):
            print("%s: %s" % (name, check(os.path.join(folder, name), work)), flush=True)


if __name__ == "__main__":
    main()
