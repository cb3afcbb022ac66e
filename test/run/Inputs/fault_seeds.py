"""Runs a program twice with each of 24 seeds: prints for each fault whether its runs had the bits of a run without a seed or
an error. Both runs of a seed must say the same, and a run that fails must write nothing.

usage: fault_seeds.py FOLDER MF-RUN PROGRAM PARAMETERS
"""

import os
import re
import subprocess
import sys

folder, mf_run, program, expected = sys.argv[1:]
path = os.path.join(folder, "parameters.safetensors")
results = {}


def read(name):
    with open(name, "rb") as file:
        return file.read()


def run(seed):
    """What the run says, its kind of fault, and how it ended."""
    command = [mf_run, program, "--steps=2", "--fault-seed=%d" % seed, "--save-params=" + path]
    done = subprocess.run(command, capture_output=True, text=True)
    fault = re.search(r"fault seed %d: \d+ turns, trace \w+, fault: (memory refused|\w+)( of .*)?\n" % seed, done.stderr)
    assert fault, done.stderr
    if done.returncode:
        assert os.listdir(folder) == [os.path.basename(expected)], os.listdir(folder)
        assert "mf-run: error: " in done.stderr, done.stderr
        return done.stderr, fault[1], "error"
    end = "same bits" if read(path) == read(expected) else "other bits"
    os.remove(path)
    return done.stderr, fault[1], end


for seed in range(24):
    first, second = run(seed), run(seed)
    assert first == second, (first, second)
    results.setdefault(first[1], set()).add(first[2])
for kind in ("none", "death", "freeze", "late", "memory refused"):
    print("%s: %s" % (kind, ", ".join(sorted(results[kind]))))
