# SPDX-License-Identifier: Apache-2.0
"""Solves generated problems of nodes and strategies with mf-plan --iopddl.

usage: strategies.py [--bin FOLDER] [--time-limit SECONDS] [--nodes N] [--write FILE] [SEED...]

The 25 problems of the ASPLOS 2025 contest (google/iopddl) are not part of this
repository. These have their published properties: layers of operators whose
values live from forward to backward, 3 to 29 strategies for a node, 31 to 47 %
forbidden pairs, costs up to 10^9. A hidden choice of strategies satisfies all
pairs, so each problem can be solved; the limit is a little above what it uses.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FORBIDDEN = 10**18
OPERATORS_PER_LAYER = 12


def make_problem(seed, num_nodes):
    draw = random.Random(seed)
    counts = [draw.randint(3, 29) for _ in range(num_nodes)]
    hidden = [draw.randrange(count) for count in counts]
    costs = [[draw.randrange(10 ** draw.randint(3, 9)) for _ in range(count)] for count in counts]
    # Half of the values live on until backward, the first ones longest.
    intervals, usages = [], []
    for node, count in enumerate(counts):
        size = draw.randrange(1, 10 ** draw.randint(3, 7))
        last = 2 * num_nodes - node if draw.random() < 0.5 else node + draw.randint(1, 4)
        intervals.append([node, last])
        usages.append([size // draw.choice([1, 2, 4, 8, 16]) for _ in range(count)])
    nodes, edge_costs = [], []

    def add_edge(a, b):
        share = draw.uniform(0.31, 0.47)
        table = [
            FORBIDDEN if draw.random() < share else draw.randrange(10 ** draw.randint(0, 8))
            for _ in range(counts[a] * counts[b])
        ]
        allowed = hidden[a] * counts[b] + hidden[b]
        if table[allowed] == FORBIDDEN:
            table[allowed] = draw.randrange(10**8)
        nodes.append([a, b])
        edge_costs.append(table)

    for node in range(1, num_nodes):
        add_edge(node - 1, node)
        # Residual connections, and values that several operators read.
        if node % OPERATORS_PER_LAYER == 0:
            add_edge(node - OPERATORS_PER_LAYER, node)
        elif draw.random() < 0.3:
            add_edge(max(0, node - draw.randint(2, 6)), node)
    changes = {}
    for (begin, end), of_node, choice in zip(intervals, usages, hidden):
        changes[begin] = changes.get(begin, 0) + of_node[choice]
        changes[end] = changes.get(end, 0) - of_node[choice]
    usage = peak = 0
    for moment in sorted(changes):
        usage += changes[moment]
        peak = max(peak, usage)
    return {
        "problem": {
            "name": "generated-%d-%d" % (num_nodes, seed),
            "nodes": {"intervals": intervals, "costs": costs, "usages": usages},
            "edges": {"nodes": nodes, "costs": edge_costs},
            "usage_limit": peak + peak // 50,
        }
    }


def solve(path, plan, limit):
    begin = time.monotonic()
    done = subprocess.run(
        [plan, "--iopddl=" + path, "--time-limit=%g" % limit], capture_output=True, text=True
    )
    seconds = time.monotonic() - begin
    if done.returncode != 0:
        return None, done.stderr.strip(), seconds
    lines = dict(line.split(" ", 1) for line in done.stdout.splitlines()[1:])
    return lines["cost"], "%s  gap %s" % (lines["bound"], lines["gap"]), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "bin"))
    parser.add_argument("--time-limit", type=float, default=60)
    parser.add_argument("--nodes", type=int, default=816)
    parser.add_argument("--write", help="only write the first problem")
    parser.add_argument("seeds", type=int, nargs="*", default=[1, 2, 3])
    options = parser.parse_args()
    if options.write:
        with open(options.write, "w") as file:
            json.dump(make_problem(options.seeds[0], options.nodes), file)
        return
    plan = os.path.join(options.bin, "mf-plan")
    print("generated problems, not those of the contest")
    print("%-20s %14s  %s" % ("problem", "cost", "bound"))
    for seed in options.seeds:
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            problem = make_problem(seed, options.nodes)
            json.dump(problem, file)
            file.flush()
            cost, rest, seconds = solve(file.name, plan, options.time_limit)
        print("%-20s %14s  %s  %.1f s" % (problem["problem"]["name"], cost, rest, seconds))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
