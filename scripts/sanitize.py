#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds tests with a sanitizer, in a folder of their own, and runs them.

usage: sanitize.py address|thread BUILD_FOLDER [TEST]...

`address` is AddressSanitizer and UndefinedBehaviorSanitizer. Without TESTs, runs the tests that do not use MLIR, which is not
instrumented: those of streams, ranks, files and kernels, and with `address` also those of the solvers and the planner of memory. Prints how many tests ran; a
sanitizer's report is a test that fails. Does nothing, and says so, where the compiler has no run-time library.
"""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COMPILER = "clang++-22"
THREADS = ["mfDeviceTest", "mfRanksTest", "mfDataTest", "mfKernelsTest"]
TESTS = {"address": THREADS + ["mfSolverTest", "mfMemoryTest", "mfPlannerTest"], "thread": THREADS}
SETTING = {"address": "ON", "thread": "thread"}
LIBRARY = {"address": "asan", "thread": "tsan"}


def find_library(kind):
    """The path of the library, or nothing: for a library that does not exist the compiler prints the bare name."""
    for name in ("libclang_rt.%s.a", "libclang_rt.%s-" + os.uname().machine + ".a"):
        found = subprocess.run([COMPILER, "--print-file-name=" + name % LIBRARY[kind]], stdout=subprocess.PIPE, text=True)
        if os.path.isabs(found.stdout.strip()):
            return found.stdout.strip()
    return None


def build(kind, folder, tests):
    configure = ["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_C_COMPILER=clang-22", "-DCMAKE_CXX_COMPILER=" + COMPILER]
    subprocess.run([*configure, "-DMF_SANITIZE=" + SETTING[kind]], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", folder, "--parallel", str(os.cpu_count()), "--target", *tests], check=True, stdout=subprocess.DEVNULL)


def run(folder, test):
    """How many tests of a program ran, and how many problems there were."""
    # LLVM's allocator poisons by hand, and is not instrumented itself.
    environment = dict(os.environ, ASAN_OPTIONS="allow_user_poisoning=0")
    done = subprocess.run([os.path.join(folder, "bin", test)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    ran = re.search(r"(\d+) tests? from \d+ test suites? ran", done.stdout)
    failed = re.search(r"(\d+) FAILED TEST", done.stdout)
    if done.returncode:
        print(done.stdout[-4000:])
    return int(ran[1]) if ran else 0, max(int(failed[1]) if failed else 0, done.returncode != 0)


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in TESTS:
        sys.exit(__doc__)
    kind, folder, tests = sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3:] or TESTS[sys.argv[1]]
    if not find_library(kind):
        print("skipped: %s has no run-time library for it (Debian: libclang-rt-22-dev)" % COMPILER)
        return 0
    build(kind, folder, tests)
    counts = [run(folder, test) for test in tests]
    problems = sum(problems for _, problems in counts)
    print("%d tests of %d programs ran, %d problems" % (sum(ran for ran, _ in counts), len(tests), problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
