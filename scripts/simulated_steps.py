# SPDX-License-Identifier: Apache-2.0
"""Lowers a YAML and simulates its step, for scripts that print tables. Tools are those of the PATH or of build/bin."""

import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def run(tool, *arguments):
    program = shutil.which(tool) or os.path.join(ROOT, "build", "bin", tool)
    result = subprocess.run([program, *arguments], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(result.stderr)
    return result.stdout + result.stderr


def simulate(text, work, *options):
    """What mf-run prints of the step of this YAML on Atlas 800T A2; `options` are the importer's."""
    yaml, model, step = (os.path.join(work, "case" + end) for end in (".yaml", ".mlir", ".step.mlir"))
    with open(yaml, "w") as file:
        file.write(text)
    run("mf-translate", "--import-mindformers", *options, yaml, "-o", model)
    run("mf-opt", "--quiet", "--hbm=none", "--recompute-config=" + yaml, model, "-o", step)
    return run("mf-run", "--simulate", "--target=atlas-800t-a2", step)
