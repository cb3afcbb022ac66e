# SPDX-License-Identifier: Apache-2.0
"""Writes DeepSeek-V3's step as a program on CANN and compiles it.

usage: cann_program.py [--stage N | --all] [--cxx COMPILER] [--jobs N] BUILD_FOLDER WORK_FOLDER

Compiles the files of one stage and the files that all stages share, or with --all the whole program, and links the program with the host's CANN.
Prints lines, files, times and sizes.
"""

import argparse
import concurrent.futures
import glob
import os
import resource
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "test", "e2e"))

import cann_programs  # noqa: E402

YAML = os.path.join(ROOT, "test", "data", "mindformers", "yamls", "pretrain_deepseek3_671b.yaml")


def run(*command):
    """The seconds that a command takes."""
    start = time.time()
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return time.time() - start


def count_lines(paths):
    return sum(open(path).read().count("\n") for path in paths)


def compile_files(compiler, sources, jobs):
    """The seconds by the clock and those of processors."""
    flags = ["-std=c++17", "-I", os.path.join(ROOT, "include"), "-I", os.path.join(ROOT, "lib", "Cann", "Headers", "include")]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda path: subprocess.run([compiler, *flags, "-c", path, "-o", path[: -len("cpp")] + "o"], check=True), sources))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.time() - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--stage", type=int, default=7)
    parser.add_argument("--all", action="store_true", help="compile all stages and link the program")
    parser.add_argument("--cxx", default="g++", help="the compiler")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("build")
    parser.add_argument("work")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    model, step, folder = (os.path.join(os.path.abspath(options.work), name) for name in ("model.mlir", "step.mlir", "program"))
    os.makedirs(folder, exist_ok=True)
    tool = lambda name: os.path.join(build, "bin", name)  # noqa: E731
    run(tool("mf-translate"), "--import-mindformers", YAML, "-o", model)
    lowered = run(tool("mf-opt"), "--quiet", "--for-cann", "--hbm=none", "--recompute-config=" + YAML, model, "-o", step)
    emitted = run(tool("mf-translate"), "--ascend-to-cpp", step, "-o", folder)
    files = sorted(glob.glob(os.path.join(folder, "*.cpp")))
    of_stage = [path for path in files if os.path.basename(path).startswith(("stage%d.cpp" % options.stage, "stage%d_" % options.stage))]
    print("all stages: %d files, %d lines; lowered in %.1f s, emitted in %.1f s" % (len(files), count_lines(files), lowered, emitted))
    longest = max(of_stage, key=os.path.getsize)
    print("stage %d: %d files, %d lines, the longest file has %d bytes" % (options.stage, len(of_stage), count_lines(of_stage), os.path.getsize(longest)))
    compiled = files if options.all else of_stage
    seconds, processor = compile_files(options.cxx, compiled, options.jobs)
    size = sum(os.path.getsize(path[: -len("cpp")] + "o") for path in compiled)
    print("%s: %d files compiled in %.1f s by %d jobs, %.1f s of processors; objects of %d bytes"
          % (options.cxx, len(compiled), seconds, options.jobs, processor, size))  # fmt: skip
    if options.all:
        program = os.path.join(folder, "step")
        cann_programs.link_program(build, [path[: -len("cpp")] + "o" for path in compiled], program, options.cxx)
        print("the program has %d bytes" % os.path.getsize(program))


if __name__ == "__main__":
    main()
