#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what a build costs: the CPU seconds of each target and of its slowest files.

usage: build_time.py [--folder FOLDER] [--trace] [TARGET]...

Builds the targets (default: those of scripts/demo.sh, then everything) in a new folder
without ccache, and prints a table. With --trace, Clang's -ftime-trace also says what the
compiler spent its time on; a build with --trace takes a little longer.
"""

import argparse
import collections
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DEMO = ["mf"]
RECORD = "MF_BUILD_TIME_RECORD"
STAGES = [
    ("reading headers", "Total Source"),
    ("front end, with headers", "Total Frontend"),
    ("templates at the end of a file", "Total PerformPendingInstantiations"),
    ("optimizer", "Total Optimizer"),
    ("back end, with the optimizer", "Total Backend"),
    ("in all", "Total ExecuteCompiler"),
]


def record(command):
    """Runs a compiler for the build and notes the CPU seconds that it took."""
    status = subprocess.call(command)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = command[command.index("-o") + 1] if "-o" in command else "?"
    with open(os.environ[RECORD], "a") as file:
        file.write("%s\t%f\n" % (output, used.ru_utime + used.ru_stime))
    return status


def read_records(path):
    """Outputs with the CPU seconds of each."""
    if not os.path.exists(path):
        return {}
    lines = (line.rstrip("\n").split("\t") for line in open(path))
    return {output: float(seconds) for output, seconds in lines}


def get_target(output):
    """The target of an object: the folder NAME.dir that CMake put it into."""
    for part in output.split("/"):
        if part.endswith(".dir"):
            return part[: -len(".dir")]
    return output


def run(command, **options):
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, **options)
    if result.returncode != 0:
        sys.exit("%s\nerror: %s failed" % (result.stdout, " ".join(command)))


def configure(folder, trace):
    launcher = ";".join([sys.executable, os.path.abspath(__file__), "--record"])
    command = ["cmake", "-S", SOURCE, "-B", folder, "-G", "Ninja", "-DMF_CCACHE=OFF"]
    command += ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_COMPILER_LAUNCHER=" + launcher]
    command += ["-DCMAKE_C_COMPILER=clang-22", "-DCMAKE_CXX_COMPILER=clang++-22"]
    if trace:
        command.append("-DCMAKE_CXX_FLAGS=-ftime-trace")
    run(command)


def build(folder, targets):
    """Wall and CPU seconds of a build, with its links and what tablegen wrote."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    before, start = used.ru_utime + used.ru_stime, time.monotonic()
    run(["cmake", "--build", folder, "--parallel", str(os.cpu_count()), "--target", *targets])
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - start, used.ru_utime + used.ru_stime - before


def print_table(head, rows):
    print("\n%10s %6s  %s" % head)
    for seconds, count, name in rows:
        print("%10.1f %6d  %s" % (seconds, count, name))


def print_records(records):
    targets = collections.defaultdict(list)
    for output, seconds in records.items():
        targets[get_target(output)].append(seconds)
    rows = sorted(((sum(s), len(s), name) for name, s in targets.items()), reverse=True)
    print_table(("CPU s", "units", "target"), rows[:30])
    files = sorted(((seconds, 1, output) for output, seconds in records.items()), reverse=True)
    print_table(("CPU s", "units", "slowest files"), files[:20])


def print_trace(folder, records):
    sums = collections.Counter()
    for output in records:
        trace = os.path.join(folder, os.path.splitext(output)[0] + ".json")
        if os.path.exists(trace):
            for event in json.load(open(trace))["traceEvents"]:
                sums[event.get("name")] += event.get("dur", 0) / 1e6
    print("\n%10s  what Clang spent it on" % "wall s")
    for what, name in STAGES:
        print("%10.1f  %s" % (sums[name], what))


def main():
    if sys.argv[1:2] == ["--record"]:
        sys.exit(record(sys.argv[2:]))
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", help="where to build; it is kept")
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    options = parser.parse_args()
    folder = options.folder or tempfile.mkdtemp(prefix="mf-build-time-")
    os.environ["CCACHE_DISABLE"] = "1"
    os.environ[RECORD] = os.path.join(folder, "seconds.tsv")
    try:
        configure(folder, options.trace)
        for targets in [options.targets] if options.targets else [DEMO, ["all"]]:
            wall, cpu = build(folder, targets)
            print("%s: %.0f s, %.1f CPU minutes" % (" ".join(targets), wall, cpu / 60), flush=True)
        records = read_records(os.environ[RECORD])
        print_records(records)
        if options.trace:
            print_trace(folder, records)
    finally:
        if not options.folder:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
