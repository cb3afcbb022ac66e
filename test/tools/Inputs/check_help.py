# SPDX-License-Identifier: Apache-2.0
"""Checks what the help of a tool says of passes, and that it is short.

usage: TOOL --help | check_help.py LLVM_TOOLS LLVM_INCLUDE_FOLDER SOURCE_FOLDER

Every pass of passes/Passes.td must be listed with its summary and its options,
and nothing of libLLVM's code generators and optimizers.
"""

import json
import os
import re
import subprocess
import sys

MAXIMUM_LINES = 320


def read_passes(llvm_tools, include, source):
    command = [os.path.join(llvm_tools, "llvm-tblgen"), "--dump-json", "-I", include, "-I", source,
               os.path.join(source, "passes", "Passes.td")]  # fmt: skip
    records = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    for name in records["!instanceof"]["PassBase"]:
        options = [records[option["def"]]["argument"] for option in records[name]["options"]]
        yield records[name]["argument"], records[name]["summary"], options


def main():
    text = sys.stdin.read()
    problems = []
    for argument, summary, options in read_passes(*sys.argv[1:]):
        entry = re.search(
            # Below an option with named values stands a line for each of them.
            r"^ *--%s +- +%s\n((?:(?: +--(?!mf-|ascend-)| +=\w).*\n)*)" % (argument, re.escape(summary)),
            text, re.MULTILINE,
        )  # fmt: skip
        if not entry:
            problems.append("expected --%s with its summary" % argument)
            continue
        for option in options:
            if not re.search(r"--%s\b" % option, entry.group(1)):
                problems.append("expected option %s of --%s" % (option, argument))
    for foreign in re.findall(r"--(?:polly|amdgpu|x86|riscv|instcombine|wasm)[\w-]*", text):
        problems.append("expected no " + foreign)
    lines = text.count("\n")
    if lines > MAXIMUM_LINES:
        problems.append("expected at most %d lines, but got %d" % (MAXIMUM_LINES, lines))
    print("\n".join(problems) or "every pass is listed, in few lines")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
