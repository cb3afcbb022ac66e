#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the tests that took longest when they last ran.

usage: slowest-tests.py [--count N] [--unit] [BUILD_FOLDER]

The times of lit's tests are those that lit recorded in its last run. --unit runs the GoogleTest programs, one after the other, and
prints the times of their tests.
"""

import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def read_lit(build):
    path = os.path.join(build, "test", ".lit_test_times.txt")
    if not os.path.exists(path):
        sys.exit("error: %s: there is none before lit has run: ctest --test-dir %s -R lit" % (path, build))
    with open(path) as file:
        for line in file:
            seconds, name = line.split(maxsplit=1)
            # Times of tests that failed are negative; tests that no longer exist may still be
            # listed.
            if exists(name.strip()):
                yield abs(float(seconds)), "lit " + name.strip()


def exists(name):
    """Whether a test has that name, or a file with EACH has a test of that name."""
    path = os.path.join(ROOT, "test", name)
    if os.path.exists(path):
        with open(path, errors="replace") as file:
            return "EACH:" not in file.read()
    return os.path.isfile(os.path.dirname(path))


def run_unit(build):
    programs = sorted(glob.glob(os.path.join(build, "bin", "mf*Test")))
    with tempfile.TemporaryDirectory() as folder:
        for program in programs:
            path = os.path.join(folder, "times.json")
            subprocess.run([program, "--gtest_output=json:" + path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            with open(path) as file:
                suites = json.load(file)["testsuites"]
            for suite in suites:
                for test in suite["testsuite"]:
                    name = "%s %s.%s" % (os.path.basename(program), suite["name"], test["name"])
                    yield float(test["time"].rstrip("s")), name


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--unit", action="store_true")
    parser.add_argument("build", nargs="?", default=os.path.join(ROOT, "build"))
    options = parser.parse_args()
    times = sorted(run_unit(options.build) if options.unit else read_lit(options.build), reverse=True)
    for seconds, name in times[: options.count]:
        print("%8.2f s  %s" % (seconds, name))
    print("%8.2f s  all %d" % (sum(seconds for seconds, _ in times), len(times)))


if __name__ == "__main__":
    main()
