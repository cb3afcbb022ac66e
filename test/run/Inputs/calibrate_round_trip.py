# SPDX-License-Identifier: Apache-2.0
"""Calibrates each target on profiles of steps that were simulated on it.

usage: calibrate_round_trip.py BIN_FOLDER SOURCE_FOLDER FOLDER [PART_OF_NAME]

Every target of mf simulates every step below and writes a profile. Two
calibrations on the profile must return the numbers that made it. One starts from
them and returns all of them, to the last digit. The other one starts with other
latencies and networks, and returns each of these to within 1 % or three times
the error that it says. (Memory, passes and shares of peaks only act together, so
a small step does not tell them apart.)
"""

import json
import os
import random
import re
import shutil
import subprocess
import sys

# A YAML, and what is appended to it: chains and folded factors; copies to the
# host for which the step waits; graph kernel fusion; experts without capacity.
STEPS = {
    "ranks": ("examples/llama_ranks.yaml", ""),
    "swap": (
        "examples/llama_ranks.yaml",
        "swap_config: {swap: True, layer_swap: [{backward_prefetch: 1, layers: True}]}\n",
    ),
    "fusion": ("examples/llama_ranks.yaml", "context: {jit_config: {jit_level: O1}}\n"),
    "experts": (
        "test/e2e/Inputs/experts_dropless.yaml",
        "parallel_config: {data_parallel: 2, expert_parallel: 2}\n",
    ),
}
# The factors by which a start differs from the truth.
FACTORS = (0.5, 0.8, 1.25, 2)
# What a fitted number may be away from the truth, in standard errors or as a share.
ERRORS, SHARE = 3, 0.01


class RoundTrip:
    def __init__(self, bin_folder, source, work):
        self.bin_folder, self.source, self.work = bin_folder, source, work

    def run(self, tool, *arguments):
        result = subprocess.run(
            [os.path.join(self.bin_folder, tool), *arguments],
            cwd=self.work,
            capture_output=True,
            text=True,
        )
        if result.returncode != 0:
            sys.exit("%s %s: %s" % (tool, " ".join(arguments), result.stderr))
        return result.stdout

    def lower(self, name):
        yaml, rest = STEPS[name]
        with open(os.path.join(self.source, yaml)) as file:
            text = file.read()
        with open(os.path.join(self.work, name + ".yaml"), "w") as file:
            file.write(text + rest)
        self.run("mf-translate", "--import-mindformers", name + ".yaml", "-o", name + ".model.mlir")
        lower = ["mf-opt", "--quiet", "--recompute-config=" + name + ".yaml", name + ".model.mlir"]
        self.run(*lower, "-o", name + ".mlir")

    def simulate(self, step, target, *arguments):
        report = "%s.json" % step
        self.run(
            "mf-run", "--simulate", "--quiet", "--target=" + target, "--report=" + report,
            step + ".mlir", *arguments,
        )  # fmt: skip
        with open(os.path.join(self.work, report)) as file:
            return json.load(file)["step_seconds"]

    def read_numbers(self, target):
        lines = self.run("mf-run", "--list-parameters", "--target=" + target).splitlines()
        return {path: float(value) for path, value in map(str.split, lines)}

    def calibrate(self, start):
        """The fitted numbers, and the table."""
        table = self.run("mf-run", "--calibrate=profile", "--target=" + start, "-o", "fitted.mlir")
        return self.read_numbers("fitted.mlir"), table

    def check_same_start(self, step, target, truth):
        fitted, table = self.calibrate(target)
        moved = {path: fitted[path] for path in truth if fitted[path] != truth[path]}
        assert not moved, "%s on %s: %s\n%s" % (step, target, moved, table)
        return re.findall(r"^(\S+)  .* \d+$", table.split("number ")[1].split("\n\n")[0], re.M)

    def check_other_start(self, step, target, truth, determined, seconds, draw):
        changed = [path for path in determined if truth[path] and ("latency" in path or path.startswith("networks."))]
        values = {}
        for path in changed:
            factor = draw.choice(FACTORS)
            is_share = path.endswith(("share", "hidden", "beside_kernels"))
            values[path] = min(1, truth[path] * factor) if is_share else truth[path] * factor
        sets = ["--set=%s=%.17g" % item for item in values.items()]
        self.run("mf-run", "--print-target", "--target=" + target, *sets, "-o", "start.mlir")
        _, table = self.calibrate("start.mlir")
        rows = re.findall(r"^(\S+) +\S+ +(\S+) +(\S+) %", table.split("number ")[1], re.M)
        far = []
        for path, after, error in rows:
            if path not in changed:
                continue
            distance = abs(float(after) / truth[path] - 1)
            if distance > max(ERRORS * float(error) / 100, SHARE):
                far.append("%s %s for %g, +- %s %%" % (path, after, truth[path], error))
        after = self.simulate(step, "fitted.mlir")
        assert not far, "%s on %s: %s\n%s" % (step, target, far, table)
        assert abs(after / seconds - 1) < 0.01, (step, target, seconds, after, table)
        return len(changed)


def main():
    bin_folder, source, work = map(os.path.abspath, sys.argv[1:4])
    part = sys.argv[4] if len(sys.argv) > 4 else ""
    trip = RoundTrip(bin_folder, source, work)
    draw = random.Random(1)
    targets = [line.split()[0] for line in trip.run("mf-run", "--list-targets").splitlines()]
    for step in STEPS:
        trip.lower(step)
    for target in targets:
        if part not in target:
            continue
        truth = trip.read_numbers(target)
        counts = []
        for step in STEPS:
            shutil.rmtree(os.path.join(work, "profile"), ignore_errors=True)
            seconds = trip.simulate(step, target, "--profile=profile")
            determined = trip.check_same_start(step, target, truth)
            counts.append(trip.check_other_start(step, target, truth, determined, seconds, draw))
        print("%s: the same numbers; %s found from elsewhere" % (target, counts))


if __name__ == "__main__":
    main()
