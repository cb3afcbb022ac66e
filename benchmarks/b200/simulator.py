# SPDX-License-Identifier: Apache-2.0
"""mf-run --simulate, with other numbers of its target."""

import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile


def read_numbers(text):
    """The numbers of an #ascend.device by path."""
    body = text[text.index("#ascend.device<") + len("#ascend.device<") :]
    body = re.sub(r"//.*", "", body)
    tokens = re.findall(r"[A-Za-z_][\w]*|[-+]?\d[\w.+-]*|[<>{}=,]|\"[^\"]*\"", body)
    numbers, path, key, depth = {}, [], None, 0
    for index, token in enumerate(tokens):
        if token in "<{":
            path.append(key)
            depth += 1
        elif token in ">}":
            depth -= 1
            if depth < 0:
                break
            path.pop()
        elif index + 1 < len(tokens) and tokens[index + 1] == "=":
            key = token
        elif re.match(r"[-+]?\d", token):
            numbers[".".join(filter(None, [*path, key]))] = float(token)
    return numbers


class Simulator:
    def __init__(self, bin_folder, target, jobs):
        self.mf_run, self.target, self.jobs = os.path.join(bin_folder, "mf-run"), target, jobs

    def call(self, *arguments):
        done = subprocess.run([self.mf_run, "--target=" + self.target, *arguments], capture_output=True, text=True)
        if done.returncode:
            sys.exit("mf-run %s\n%s" % (" ".join(arguments), done.stderr.strip()))
        return done.stdout

    def get_numbers(self):
        return read_numbers(self.call("--print-target"))

    def simulate(self, step, changes):
        """The report of a step, with other numbers than the target has."""
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "report.json")
            sets = ["--set=%s=%r" % (path, float(value)) for path, value in sorted(changes.items())]
            # Programs with other waits or fused kernels are no steps that mf-opt proved.
            self.call("--simulate", "--verify=false", "--quiet", "--report=" + report, *sets, step)
            with open(report) as file:
                return json.load(file)

    def simulate_all(self, steps, changes):
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            return list(pool.map(lambda step: self.simulate(step, changes), steps))
