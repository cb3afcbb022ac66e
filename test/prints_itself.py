# SPDX-License-Identifier: Apache-2.0
"""Checks that programs are printed as they are written.

usage: prints_itself.py COMMAND... < PROGRAMS

COMMAND is an mf-opt that reads programs, between lines `// -----`, and prints them in the custom form or, with an option more, in the
generic one. Each program must come out of it as it went in, also by way of the generic form: all but comments, line breaks and the names
of values. `%prints-itself` is this script in RUN lines.
"""

import difflib
import re
import subprocess
import sys

OPTIONS = ["-allow-unregistered-dialect", "-split-input-file"]
# Results with `=` behind them, an argument with `:` behind it, or an operand.
VALUES = re.compile(r"(?P<results>%\w+(?::\d+)?(?:, %\w+(?::\d+)?)*)(?= = )|%(?P<argument>\w+)(?=: )|%(?P<name>\w+)(?:#(?P<index>\d+))?")


def number_values(text):
    """The text with values by number, in the order of their definitions."""
    numbers, last = {}, 0

    def define(name, count):
        nonlocal last
        for index in range(count):
            last += 1
            numbers[name, index] = "%%%d" % last
            yield numbers[name, index]

    def rename(match):
        if match["results"]:
            names = re.findall(r"%(\w+)(?::(\d+))?", match["results"])
            return ", ".join(number for name, count in names for number in define(name, int(count or 1)))
        if match["argument"]:
            return next(define(match["argument"], 1))
        return numbers.get((match["name"], int(match["index"] or 0)), match[0])

    return VALUES.sub(rename, text)


def get_lines(text):
    """Lines of a program, about an operator each, that do not depend on how it is written."""
    code = "\n".join(line.split(" // ")[0] for line in text.splitlines() if not line.lstrip().startswith("//"))
    code = re.sub(r"\s+", " ", code).strip()
    code = number_values(re.sub(r"^((?:#\w+ = \S+ )*)module \{ (.*) \}$", r"\1\2", code))
    return re.sub(r"(?<!,)(?<! =) (?=%\d+(?:, %\d+)* = |(?:mf|ascend)\.\w+[ (]|\})", "\n", code).splitlines()


def run(command, text):
    result = subprocess.run(command, input=text, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(result.stderr)
    return result.stdout


def main():
    command, text = sys.argv[1:] + OPTIONS, sys.stdin.read()
    wanted = text.split("// -----\n")
    failed = False
    for printed in (run(command, text), run(command, run([*command, "-mlir-print-op-generic"], text))):
        found = printed.split("// -----\n")
        if len(found) != len(wanted):
            sys.exit("expected %d programs, but %d are printed" % (len(wanted), len(found)))
        for one, other in zip(map(get_lines, wanted), map(get_lines, found)):
            difference = list(difflib.unified_diff(one, other, "written", "printed", lineterm="", n=0))
            print("\n".join(difference), end="\n" if difference else "")
            failed |= bool(difference)
    sys.exit(failed)


if __name__ == "__main__":
    main()
