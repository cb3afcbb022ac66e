"""Runs the commands shown in Markdown pages and compares what they print.

usage: check_examples.py [--update] BIN_FOLDER PAGE...

A fenced block right below a line `<!-- prints: COMMAND -->` must hold exactly
what COMMAND prints, run by bash in the source folder with the tools on PATH.
With --update the blocks are written instead.
"""

import difflib
import os
import re
import subprocess
import sys

BLOCK = re.compile(r"(<!-- prints: (.*?) -->\n```\w*\n)(.*?)(```\n)", re.DOTALL)
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def output_of(command, folder):
    path = os.path.abspath(folder) + os.pathsep + os.environ["PATH"]
    result = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=ROOT, env=dict(os.environ, PATH=path), capture_output=True, text=True,
    )  # fmt: skip
    if result.returncode != 0:
        sys.exit("error: '%s' failed:\n%s" % (command, result.stderr))
    return result.stdout


def main():
    update = sys.argv[1] == "--update"
    folder, *pages = sys.argv[2 if update else 1 :]
    failed = found = 0
    for page in pages:
        text = open(page).read()
        blocks = BLOCK.findall(text)
        found += len(blocks)
        if update:
            text = BLOCK.sub(lambda m: m[1] + output_of(m[2], folder) + m[4], text)
            open(page, "w").write(text)
            continue
        for _, command, expected, _ in blocks:
            actual = output_of(command, folder)
            if actual == expected:
                continue
            failed += 1
            print("%s: '%s' prints something else:" % (page, command))
            sys.stdout.writelines(
                difflib.unified_diff(
                    expected.splitlines(True), actual.splitlines(True), "page", "printed"
                )
            )
    if found == 0:
        sys.exit("error: no page has a block that a command prints")
    if failed:
        sys.exit("error: %d blocks differ; --update writes them anew" % failed)


if __name__ == "__main__":
    main()
