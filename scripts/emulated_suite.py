#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs all lit tests with the programs of a build for another processor, in its emulator.

usage: emulated_suite.py FOLDER

FOLDER is a build by cmake/aarch64.cmake. Without it, says that the tests are skipped. Tests that need programs of this machine are
unsupported there. Prints the tests that fail, with their output, and the counts.
"""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def find_lit(build):
    with open(os.path.join(build, "CMakeCache.txt")) as file:
        return re.search(r"^MF_LIT:\w+=(.+)$", file.read(), re.MULTILINE)[1]


def main():
    build = os.path.abspath(sys.argv[1])
    if not os.path.exists(os.path.join(build, "emulated", "bin", "mf-run")):
        print("skipped: there is no build in %s (docs/install.md)" % os.path.relpath(build, ROOT))
        return 0
    # An emulated program takes ten times as long as one of this machine.
    done = subprocess.run([find_lit(build), "-sv", "--timeout=12000", os.path.join(build, "test")], stdout=subprocess.PIPE, text=True)
    print(done.stdout)
    counts = {name: int(count) for name, count in re.findall(r"^\s*(\w[\w ]*\w)\s*: *(\d+)", done.stdout, re.MULTILINE)}
    print("%d tests" % sum(counts.get(name, 0) for name in ("Passed", "Failed", "Timed Out", "Unresolved")))
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
