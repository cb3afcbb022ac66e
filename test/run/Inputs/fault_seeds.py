# SPDX-License-Identifier: Apache-2.0
"""Runs a program twice with each of 48 seeds: prints for each kind of fault whether runs in which it alone happened had the bits of
a run without a seed or an error, and the same of runs with several. Both runs of a seed must say the same, and a run that fails
must write nothing.

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


def get_kind(faults):
    kinds = [fault.split(" of ")[0] for fault in faults.split(", ")]
    if kinds[0] == "none":
        return "none"
    return kinds[0] if len(kinds) == 1 else "several"


def run(seed):
    """What the run says, its kind of fault, and how it ended."""
    command = [mf_run, program, "--steps=2", "--fault-seed=%d" % seed, "--save-params=" + path]
    done = subprocess.run(command, capture_output=True, text=True)
    said = re.sub(r"\.tmp-\d+-\d+", ".tmp", done.stderr)
    fault = re.search(r"fault seed %d: \d+ turns, trace \w+, faults: (.+)\n" % seed, said)
    assert fault, said
    if done.returncode:
        left = [name for name in os.listdir(folder) if os.path.join(folder, name) != expected]
        if "file cut" in fault[1]:
            # As behind a kill: a file without its name.
            assert all(re.match(r"\.parameters\.safetensors\.tmp-", name) for name in left), left
            for name in left:
                os.remove(os.path.join(folder, name))
        else:
            assert not left, left
        assert "mf-run: error: " in said, said
        return said, get_kind(fault[1]), "error"
    end = "same bits" if read(path) == read(expected) else "other bits"
    os.remove(path)
    return said, get_kind(fault[1]), end


for seed in range(48):
    first, second = run(seed), run(seed)
    assert first == second, (first, second)
    results.setdefault(first[1], set()).add(first[2])
for kind in sorted(results):
    print("%s: %s" % (kind, ", ".join(sorted(results[kind]))))
