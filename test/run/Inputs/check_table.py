# SPDX-License-Identifier: Apache-2.0
"""Compares what mf-run --simulate prints with its report.

usage: check_table.py TABLE REPORT

Each number of a stage's lines must be the report's, as far as its digits go, and
the four times of a stage must add up to the step, its bytes to its peak.
"""

import json
import sys


def expect(what, shown, value):
    """`shown` is text: half a unit of its last digit is allowed."""
    digits = len(shown.partition(".")[2])
    if abs(float(shown) - value) > 0.5001 * 10**-digits:
        sys.exit("error: %s: expected %s, but got %s" % (what, value, shown))


def main():
    lines = open(sys.argv[1]).read().splitlines()
    report = json.load(open(sys.argv[2]))
    step, stages = report["step_seconds"], report["stages"]
    rows = [line.split()[2:] for line in lines if line.startswith("stage ")]
    if len(rows) != 2 * len(stages):
        sys.exit("error: expected %d lines of stages, but got %d" % (2 * len(stages), len(rows)))
    for i, stage in enumerate(stages):
        memory, times = rows[i], rows[len(stages) + i]
        names = ("busy", "bubble", "exposed_communication", "stall")
        seconds = [stage[name + "_seconds"] for name in names]
        for j, name in enumerate(names):
            expect(name, times[2 * j], seconds[j])
            expect(name + " in %", times[2 * j + 1], 100 * seconds[j] / step)
        if abs(sum(seconds) - step) > 1e-9 * step:
            sys.exit("error: times add up to %s, but the step takes %s" % (sum(seconds), step))
        if sum(stage["bytes"].values()) != stage["peak_bytes"]:
            sys.exit("error: bytes add up to %d, not to %d" % (sum(stage["bytes"].values()), stage["peak_bytes"]))
        for j, name in enumerate(("parameter", "gradient", "optimizer_state", "activation")):
            expect(name, memory[j], stage["bytes"].get(name, 0) / 2**30)
        expect("peak", memory[5], stage["peak_bytes"] / 2**30)
        expect("host", memory[7], stage["host_bytes"] / 2**30)
    path = sum(share["seconds"] for share in report["critical_path"])
    if abs(path - step) > 1e-6 * step:
        sys.exit("error: the critical path is %s, but the step takes %s" % (path, step))
    text = dict(line.split(": ", 1) for line in lines if ": " in line)
    expect("step", text["step time"].split()[0], step)
    expect("tokens", text["tokens/s per NPU"], report["tokens_per_second_per_npu"])
    print("the table and the report have the same %d stages" % len(stages))


if __name__ == "__main__":
    main()
