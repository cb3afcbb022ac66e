# SPDX-License-Identifier: Apache-2.0
"""Prints what forward of the first chunk keeps for backward of one layer: operator and type, in order.

usage: list_kept.py LAYER < MODEL
"""

import re
import sys

RESULTS = re.compile(r"\s*(%.*?) = mf\.\S+.*\bname = \"([^\"]*)\"")


def main():
    text = sys.stdin.read()
    forward = text[text.index("mf.forward @chunk0") : text.index("mf.backward @chunk0")]
    names = {}
    for line in forward.splitlines():
        if match := RESULTS.match(line):
            names.update((value.strip(), match[2]) for value in match[1].split(","))
    values, types = re.search(r"mf\.return (.*) : (.*)", forward).groups()
    for value, kind in zip(values.split(", "), types.split(", "), strict=True):
        name = names.get(value, "")
        if name.startswith(sys.argv[1] + "."):
            print(name[len(sys.argv[1]) + 1 :], kind)


if __name__ == "__main__":
    main()
