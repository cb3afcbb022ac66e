# SPDX-License-Identifier: Apache-2.0
"""Compares the stages of `mf check --json` with those of `mf-opt --json`."""

import json
import sys

ours = json.load(open(sys.argv[1]))["stages"]
lines = [json.loads(line) for line in open(sys.argv[2]) if line.strip()]
theirs = next(line["stages"] for line in lines if "stages" in line)
assert len(ours) == len(theirs) > 1
for mine, other in zip(ours, theirs):
    for key, value in other.items():
        assert mine[key] == value, (key, mine[key], value)
    live = sum(mine["bytes_at_peak"].values())
    assert live == sum(part["bytes"] for part in mine["parts"])
    assert 0 < live <= mine["arena_bytes"]
