# SPDX-License-Identifier: Apache-2.0
"""Runs mf-plan on training YAMLs from Python, and compiles what it planned."""

import json
import os
import subprocess


class Plan:
    """What mf-plan found for a YAML: what it prints as JSON, and the YAML's file."""

    def __init__(self, path, found):
        self.path, self.found = path, found
        self.limit = found["limit_bytes"]
        self.given, self.planned = found["given"], found["planned"]
        self.seconds, self.peaks = self.planned["seconds"], [stage["peak_bytes"] for stage in self.planned["stages"]]

    def get_text(self):
        return open(self.path).read()


class Planner:
    """mf-plan for one target, with the tools and their folder."""

    def __init__(self, tools, target, settings=()):
        self.tools = tools
        self.target = ["--target=" + target, *("--set=" + setting for setting in settings)]

    def run(self, name, yaml, limit, *options):
        """Plans into NAME.yaml; returns the finished process, NAME.yaml and NAME.json."""
        path, report = self.tools.path(name + ".yaml"), self.tools.path(name + ".json")
        for file in (path, report):
            if os.path.exists(file):
                os.remove(file)
        command = [os.path.join(self.tools.bin, "mf-plan"), yaml, *self.target, "--hbm=%s" % ("%dB" % limit if isinstance(limit, int) else limit), *options]
        # The machine may be slow; a search that the clock ends has no bytes of its own.
        command += ["--time-limit=600", "-o", path, "--json=" + report]
        return subprocess.run(command, capture_output=True, text=True, timeout=600), path, report

    def plan(self, name, yaml, limit, *options):
        result, path, report = self.run(name, yaml, limit, *options)
        if result.returncode != 0:
            raise RuntimeError("mf-plan failed (%d): %s" % (result.returncode, result.stderr))
        return Plan(path, json.load(open(report)))

    def compile(self, name, yaml, limit=None):
        """The step of a YAML that needs no more than `limit` bytes, in NAME.step.mlir."""
        model, step = self.tools.path(name + ".mlir"), self.tools.path(name + ".step.mlir")
        self.tools.run("mf-translate", "--import-mindformers", yaml, "-o", model)
        limits = ["--hbm=%dB" % limit] if limit else []
        self.tools.run("mf-opt", "--quiet", *limits, "--recompute-config=" + yaml, model, "-o", step)
        return step

    def simulate(self, step):
        """The report of a simulated step."""
        report = self.tools.path("simulated.json")
        self.tools.run("mf-run", "--simulate", *self.target, step, "--quiet", "--report", report)
        return json.load(open(report))
