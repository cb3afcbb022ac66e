# SPDX-License-Identifier: Apache-2.0
"""Compares what two runs of mf-run left behind.

usage: compare_runs.py RUN RUN

Reads RUN.json (a report), RUN.safetensors (parameters) and RUN.gradients of both.
All must be the same bits, and every rank must have used what was planned.
"""

import json
import sys

import safetensors


def read(run):
    with open(run + ".json") as file:
        report = json.load(file)
    losses = [step["loss"] for step in report["steps"]]
    tables = [safetensors.load_bytes(run + ending) for ending in (".safetensors", ".gradients")]
    return (losses, *tables), report["ranks"]


def main():
    (first, *ranks), (second, *others) = read(sys.argv[1]), read(sys.argv[2])
    names = "losses", "parameters", "gradients"
    for name, one, other in zip(names, first, second):
        if one != other:
            sys.exit("error: different " + name)
    print("the same %d losses, %d parameters and %d gradients" % tuple(map(len, first)))
    for run in ranks + others:
        for rank in run:
            if not rank["peak_bytes"] == rank["used_bytes"] == rank["planned_bytes"]:
                sys.exit("error: planned and used differ: %s" % rank)
        print("%d ranks used all that was planned for them" % len(run))


if __name__ == "__main__":
    main()
