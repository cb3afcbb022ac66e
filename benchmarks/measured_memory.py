# SPDX-License-Identifier: Apache-2.0
"""Planned memory of the trainer beside peaks that were measured on NPUs.

usage: measured_memory.py [--parts] BIN_FOLDER [ROWS_JSON]

Imports and lowers the YAML of each row of test/data/measured_memory/rows.json, or
of another file of the same form, for the row's ranks. Prints for each measured
stage the live bytes that mf counts for the trainer, the measured bytes, the
difference, and the bytes of mf's own program, in MiB. With --parts the script also
prints the categories of the trainer's bytes. The last lines have the mean and the largest difference of
each family. Nothing is fitted to a row.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MIB = 1 << 20


def lower(bin_folder, path, ranks, folder):
    """The stages of a YAML's step as mf-opt reports them, or why there are none."""
    environment = dict(os.environ, RANK_SIZE=str(ranks))
    model, report = (os.path.join(folder, name) for name in ("model.mlir", "report.json"))
    commands = (
        ["mf-translate", "--import-mindformers", path, "-o", model],
        ["mf-opt", "--quiet", "--verify=false", "--hbm=none", "--json=" + report, "--recompute-config=" + path, model, "-o", os.devnull],
    )
    for command in commands:
        command[0] = os.path.join(bin_folder, command[0])
        run = subprocess.run(command, env=environment, capture_output=True, text=True)
        if run.returncode:
            errors = [line for line in run.stderr.splitlines() if "error" in line]
            return None, (errors or [run.stderr.strip()])[0].split("error: ")[-1]
    with open(report) as file:
        for line in file:
            if '"stages"' in line:
                return json.loads(line)["stages"], ""
    return None, "no report of stages"


def get_measured(row):
    """For each measurement, the name of the row and its MindSpore, the stage, and bytes."""
    if "live_bytes" in row:
        return [(row["name"], row["stage"], row["live_bytes"])]
    newer = row.get("live_MiB_per_stage_mindspore_2_10", [])
    names = [(row["name"] + (" on 2.9" if newer else ""), row["live_MiB_per_stage"]), (row["name"] + " on 2.10", newer)]
    return [(name, stage, number * MIB) for name, numbers in names for stage, number in enumerate(numbers)]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--parts", action="store_true")
    parser.add_argument("bin")
    parser.add_argument("rows", nargs="?", default=os.path.join(ROOT, "test/data/measured_memory/rows.json"))
    arguments = parser.parse_args()
    with open(arguments.rows) as file:
        rows = json.load(file)["rows"]
    print("%-45s %5s %10s %10s %8s %10s  %s" % ("MiB", "stage", "trainer", "measured", "off", "program", "peak at"))
    differences = {}
    for row in rows:
        path = os.path.join(os.path.dirname(arguments.rows), row["file"])
        with tempfile.TemporaryDirectory() as folder:
            stages, reason = lower(arguments.bin, path, row["ranks"], folder)
        for name, stage, measured in get_measured(row):
            if stages is None:
                print("%-45s %5d %10s %10.1f %8s %10s  %s" % (name, stage, "refused", measured / MIB, "", "", reason))
                continue
            report = stages[stage]
            planned = report["trainer_live_bytes"]
            difference = 100 * (planned / measured - 1)
            differences.setdefault(row["family"], []).append(difference)
            print("%-45s %5d %10.1f %10.1f %+7.2f%% %10.1f  %s" % (name, stage, planned / MIB, measured / MIB,
                  difference, report["program_bytes"] / MIB, report["trainer_peak_at"]))  # fmt: skip
            if arguments.parts:
                print("  " + ", ".join("%s %.1f" % (part, size / MIB) for part, size in report["trainer_parts"].items()))
    for family, numbers in differences.items():
        mean = sum(abs(number) for number in numbers) / len(numbers)
        print("%s: %d stages, mean difference %.2f%%, largest %.2f%%" % (family, len(numbers), mean, max(numbers, key=abs)))


if __name__ == "__main__":
    sys.exit(main())
