# SPDX-License-Identifier: Apache-2.0
"""Runs the passes of a training step one by one, each in a process of its own.

usage: one_by_one.py CONFIG MODEL TOOL [ARGUMENT...]

Which passes, with which options and on which operations, is what TOOL prints of
mf-training-step with --dump-pass-pipeline. Prints the IR that comes out.
"""

import re
import subprocess
import sys


def run(command, text):
    return subprocess.run(command, input=text, check=True, capture_output=True, text=True)


def flatten(pipeline):
    """A pipeline of one pass for each pass of a pipeline as it is dumped."""
    nests = []
    for line in pipeline.splitlines():
        line = line.strip().rstrip(",")
        if line.endswith("("):
            nests.append(line)
        elif line == ")":
            nests.pop()
        elif line:
            yield "".join(nests) + line + ")" * len(nests)


def main():
    config, model, *tool = sys.argv[1:]
    text = open(model).read()
    step = "--pass-pipeline=builtin.module(mf-training-step{config=%s})" % config
    dump = run([*tool, step, "--dump-pass-pipeline"], text).stderr
    pipeline = re.search(r"^builtin\.module\(\n.*?^\)$", dump, re.MULTILINE | re.DOTALL).group()
    for single in flatten(pipeline):
        text = run([*tool, "--pass-pipeline=" + single], text).stdout
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
