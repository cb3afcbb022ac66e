# SPDX-License-Identifier: Apache-2.0
"""Runs the commands shown in Markdown pages and compares what they print.

usage: check_examples.py [--update] [--nightly] BIN_FOLDER PAGE...

A fenced block right below a line `<!-- prints: COMMAND -->` must hold exactly
what COMMAND prints, run by bash in the source folder with the tools on PATH.
`python3` is the interpreter that runs this. What takes long is below `<!-- prints (nightly): COMMAND -->`; it is only
checked with --nightly, and then alone. With --update the blocks are written
instead.
"""

import argparse
import difflib
import os
import re
import subprocess
import sys
import tempfile

MARK, NIGHTLY_MARK = "<!-- prints: ", "<!-- prints (nightly): "
BLOCK = r"(%s(.*?) -->\n```\w*\n)(.*?)(```\n)"
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def output_of(command, folder):
    with tempfile.TemporaryDirectory() as own:
        # A link would hide the modules of a virtual environment.
        python = os.path.join(own, "python3")
        with open(python, "w") as file:
            file.write('#!/bin/sh\nexec "%s" "$@"\n' % sys.executable)
        os.chmod(python, 0o755)
        path = os.pathsep.join([own, os.path.abspath(folder), os.environ["PATH"]])
        result = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=ROOT, env=dict(os.environ, PATH=path), capture_output=True, text=True,
        )  # fmt: skip
    if result.returncode != 0:
        sys.exit("error: '%s' failed:\n%s" % (command, result.stderr))
    return result.stdout


def read_blocks(page, text, mark):
    """The blocks of a page, none of whose marks may be without one."""
    blocks = re.findall(BLOCK % re.escape(mark), text, re.DOTALL)
    if len(blocks) != text.count(mark):
        sys.exit("error: %s: %d of %d marks '%s' have no block right below" % (page, text.count(mark) - len(blocks), text.count(mark), mark))
    return blocks


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--nightly", action="store_true")
    parser.add_argument("bin_folder")
    parser.add_argument("page", nargs="+")
    options = parser.parse_args()
    mark = NIGHTLY_MARK if options.nightly else MARK
    failed = found = 0
    for page in options.page:
        with open(page) as file:
            text = file.read()
        blocks = read_blocks(page, text, mark)
        found += len(blocks)
        if options.update:
            for begin, command, old, end in blocks:
                text = text.replace(begin + old + end, begin + output_of(command, options.bin_folder) + end)
            with open(page, "w") as file:
                file.write(text)
            continue
        for _, command, expected, _ in blocks:
            actual = output_of(command, options.bin_folder)
            if actual == expected:
                continue
            failed += 1
            print("%s: '%s' prints something else:" % (page, command))
            sys.stdout.writelines(
                difflib.unified_diff(
                    expected.splitlines(True), actual.splitlines(True), "page", "printed"
                )
            )
    print("%d blocks, %d differ" % (found, failed))
    if failed:
        sys.exit("error: %d blocks differ; --update writes them anew" % failed)


if __name__ == "__main__":
    main()
