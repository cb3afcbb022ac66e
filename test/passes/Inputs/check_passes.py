# SPDX-License-Identifier: Apache-2.0
"""Checks that every pass is described, tested, and says what it decides.

usage: check_passes.py K/N LLVM_TOOLS LLVM_INCLUDE_FOLDER BUILD_FOLDER WORK_FOLDER

Reads passes/Passes.td through llvm-tblgen, and checks its passes K, K + N and so on. A pass needs

- a one-line summary without a full stop, a description with an ```mlir
  example, and a description of each option;
- a test <pass>.mlir in the folder of its phase, and <pass>-errors.mlir if its
  source can signal a failure; its name without `mf-` or `ascend-` is that of
  the tests;
- tests that notice when it is missing: each RUN line that runs the pass and
  checks something must fail with the pass taken out of it. Where a pass leaves
  the IR alone (it marks all analyses preserved) only errors can show that;
- at least one remark on the input of <pass>.mlir, if it changes that input.
"""

import concurrent.futures
import glob
import json
import os
import re
import subprocess
import sys

import run_lines
from run_lines import ROOT

# The parts of a RUN line that make it fail if something is not as expected.
CHECKS = re.compile(r"\bFileCheck\b|verify-diagnostics|\bnot |\bcmp\b|\bdiff\b")
ERRORS = re.compile(r"verify-diagnostics|\bnot ")


class Pass:
    """A record of Passes.td, with its source and its tests."""

    def __init__(self, name, records):
        self.record, self.records = records[name], records
        self.argument = self.record["argument"]
        self.stem = self.argument.split("-", 1)[1]
        base = "impl::%sBase<" % name
        sources = glob.glob(os.path.join(ROOT, "passes", "*", "*.cpp"))
        texts = [(path, open(path).read()) for path in sources]
        self.source = next((text for _, text in texts if base in text), "")
        self.folder = next((os.path.dirname(path) for path, text in texts if base in text), "")
        self.can_fail = "signalPassFailure" in self.source
        self.changes_nothing = "markAllAnalysesPreserved" in self.source

    def test(self, suffix=".mlir"):
        folder = os.path.basename(self.folder)
        return os.path.join(ROOT, "test", "passes", folder, self.stem + suffix)


def read_passes(llvm_tools, include):
    command = [os.path.join(llvm_tools, "llvm-tblgen"), "--dump-json", "-I", include, "-I", ROOT,
               os.path.join(ROOT, "passes", "Passes.td")]  # fmt: skip
    records = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return [Pass(name, records) for name in records["!instanceof"]["PassBase"]]


def get_description_problems(entry):
    summary = entry.record["summary"] or ""
    if not summary or "\n" in summary or summary.endswith("."):
        yield "expected a summary of one line without a full stop"
    if summary[:1] != summary[:1].upper():
        yield "expected a summary that begins with a capital letter"
    if not re.search(r"```mlir\n.*?```", entry.record["description"] or "", re.DOTALL):
        yield "expected a description with an ```mlir example"
    for reference in entry.record["options"]:
        option = entry.records[reference["def"]]
        if not option["description"]:
            yield "expected a description of option '%s'" % option["argument"]


def get_test_problems(entry):
    if not entry.source:
        yield "expected a source in passes/ that defines it"
        return
    suffixes = [".mlir"] + (["-errors.mlir"] if entry.can_fail else [])
    for path in map(entry.test, suffixes):
        where = os.path.relpath(path, ROOT)
        if not os.path.exists(path):
            yield "expected a test " + where
        elif not any(run_lines.names(line, entry.argument) for line in run_lines.read(path)):
            yield "expected a RUN line of %s to run it" % where


def get_removal_problems(entry, test, shell):
    """Runs all lines of a test without the pass, so that also what one line
    leaves for the next comes without it."""
    lines = run_lines.read(test)
    named = [line for line in lines if run_lines.names(line, entry.argument)]
    if not named:
        return
    for line in lines:
        result = shell.run(line, test)
        if result.returncode != 0:
            raise ValueError("'%s' fails:\n%s" % (line, result.stderr))
    failures = 0
    for line in lines:
        removed = run_lines.without(line, entry.argument)
        result = shell.run(removed, test)
        if "PassPipeline Parser" in result.stdout + result.stderr:
            raise ValueError("cannot run '%s': %s" % (removed, result.stderr))
        failures += result.returncode != 0
        pattern = ERRORS if entry.changes_nothing else CHECKS
        if result.returncode == 0 and line in named and pattern.search(line):
            yield "expected this line of %s to fail without the pass: %s" % (
                os.path.relpath(test, ROOT), line)  # fmt: skip
    if not failures and not entry.changes_nothing:
        yield "expected %s to fail without the pass" % os.path.relpath(test, ROOT)


def get_remark_problems(entry, shell):
    """Compares the first plain run of <pass>.mlir with one without the pass."""
    setup, pipeline = [], None
    for line in run_lines.read(entry.test()):
        if run_lines.names(line, entry.argument) and "remark" not in line:
            # Up to the pass: what makes its input may come before it.
            ends = [match.start() for match in re.finditer(r"\|", line)] + [len(line)]
            pipeline = next(line[:end] for end in ends if run_lines.names(line[:end], entry.argument))
            break
        setup.append(line)
    if not pipeline:
        yield "expected a RUN line of its test without remarks"
        return

    def run(command):
        output = os.path.join(shell.work, entry.stem + ".out")
        all_remarks = " --remarks-filter=.* -o " + output
        command = re.sub(r"\s-o \S+|2>&1|2>\s*\S+", "", command) + all_remarks
        result = shell.run("; ".join([*setup, command]), entry.test())
        text = open(output).read() if os.path.exists(output) else ""
        return text, result.stderr.count("remark: ")

    after, remarks = run(pipeline)
    before, others = run(run_lines.without(pipeline, entry.argument))
    if after != before and remarks <= others:
        yield "expected a remark on what it does to the input of its test"


def get_tests(entry, passes):
    """Tests of the folder that are named after this pass and no longer name."""
    stems = sorted((other.stem for other in passes), key=len, reverse=True)
    for path in sorted(glob.glob(os.path.join(os.path.dirname(entry.test()), "*"))):
        name = os.path.basename(path).rsplit(".", 1)[0]
        owner = next((s for s in stems if name == s or name.startswith(s + "-")), None)
        if owner == entry.stem and os.path.isfile(path):
            yield path


def get_problems(entry, passes, shell):
    yield from get_description_problems(entry)
    missing = list(get_test_problems(entry))
    yield from missing
    if missing:
        return
    for test in get_tests(entry, passes):
        yield from get_removal_problems(entry, test, shell)
    yield from get_remark_problems(entry, shell)


def main():
    part, parts = map(int, sys.argv[1].split("/"))
    llvm_tools, include, build, work = map(os.path.abspath, sys.argv[2:])
    os.makedirs(work, exist_ok=True)
    passes = read_passes(llvm_tools, include)
    chosen = passes[part::parts]
    shell = run_lines.Shell(build, llvm_tools, work)
    problems = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda entry: list(get_problems(entry, passes, shell)), chosen)
        for entry, texts in zip(chosen, found):
            for text in texts:
                problems += 1
                print("%s: %s" % (entry.argument, text))
    print("%d passes, %d problems" % (len(chosen), problems))
    sys.exit(problems > 0)


if __name__ == "__main__":
    main()
