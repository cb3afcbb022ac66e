# SPDX-License-Identifier: Apache-2.0
"""One step of examples/llama_tiny.yaml with other sections, for the tables."""

import json
import os
import re
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TEXT = "/usr/share/common-licenses/GPL-3"


class TinyLlama:
    """A context manager with a folder for the files."""

    def __init__(self, arguments):
        """`arguments`: of the command line; the first may be the tools' folder."""
        self.bin = os.path.abspath(arguments[0] if arguments else ROOT + "/build/bin")

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def run(self, tool, *arguments):
        """Runs one of the tools; returns what it says on standard error."""
        command = [os.path.join(self.bin, tool), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stderr

    def train(self, sections):
        """Lowers the example with `sections` in place of its recompute_config and
        runs one step with --debug-memory. Returns the step's file, its loss and
        the report of rank 0."""
        with open(ROOT + "/examples/llama_tiny.yaml") as file:
            text = file.read()
        with open(self.path("train.yaml"), "w") as file:
            file.write(re.sub(r"recompute_config:\n(?:  .*\n)*", lambda _: sections, text))
        yaml, model, step, report = map(
            self.path, ("train.yaml", "model.mlir", "step.mlir", "report.json")
        )
        self.run("mf-translate", "--import-mindformers", yaml, "-o", model)
        self.run("mf-opt", "--quiet", "--recompute-config=" + yaml, model, "-o", step)
        self.run("mf-run", step, "--steps", "1", "--data", TEXT, "--debug-memory",
                 "--report", report, "--quiet")  # fmt: skip
        with open(report) as file:
            result = json.load(file)
        return step, result["steps"][0]["loss"], result["ranks"][0]
