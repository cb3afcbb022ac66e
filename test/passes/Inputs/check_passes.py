"""Checks that every pass is described, documented by an example, and tested.

usage: check_passes.py LLVM_TBLGEN LLVM_INCLUDE_FOLDER SOURCE_FOLDER

Reads passes/Passes.td through llvm-tblgen. A pass needs a one-line summary
without a full stop, a description with an ```mlir example, a description of
each option, and the tests <pass>.mlir and <pass>-errors.mlir in the folder of
its phase; its name without `mf-` or `ascend-` is that of the tests.
"""

import json
import os
import re
import subprocess
import sys


def read_passes(tblgen, include, source):
    command = [tblgen, "--dump-json", "-I", include, "-I", source,
               os.path.join(source, "passes", "Passes.td")]  # fmt: skip
    records = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    names = records["!instanceof"]["PassBase"]
    return [(records[name], records) for name in names]


def get_description_problems(record, records):
    summary = record["summary"] or ""
    if not summary or "\n" in summary or summary.endswith("."):
        yield "expected a summary of one line without a full stop"
    if summary[:1] != summary[:1].upper():
        yield "expected a summary that begins with a capital letter"
    if not re.search(r"```mlir\n.*?```", record["description"] or "", re.DOTALL):
        yield "expected a description with an ```mlir example"
    for reference in record["options"]:
        option = records[reference["def"]]
        if not option["description"]:
            yield "expected a description of option '%s'" % option["argument"]


def get_test_problems(argument, tests):
    name = argument.split("-", 1)[1]
    for test in (name + ".mlir", name + "-errors.mlir"):
        if test not in tests:
            yield "expected a test %s under test/passes" % test
        elif "--" + argument not in tests[test] and argument not in tests[test]:
            yield "expected %s to run %s" % (test, argument)


def main():
    tblgen, include, source = sys.argv[1:]
    tests = {}
    for folder, _, files in os.walk(os.path.join(source, "test", "passes")):
        for file in files:
            if file.endswith(".mlir"):
                tests[file] = open(os.path.join(folder, file)).read()
    problems = 0
    passes = read_passes(tblgen, include, source)
    for record, records in passes:
        argument = record["argument"]
        for problem in (
            *get_description_problems(record, records),
            *get_test_problems(argument, tests),
        ):
            problems += 1
            print("%s: %s" % (argument, problem))
    print("%d passes, %d problems" % (len(passes), problems))
    sys.exit(problems > 0)


if __name__ == "__main__":
    main()
