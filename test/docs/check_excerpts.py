# SPDX-License-Identifier: Apache-2.0
"""Checks what Markdown pages show of the source and of sessions.

usage: check_excerpts.py BIN_FOLDER PAGE...

A fenced block right below `<!-- from: FILE -->` must occur in that file, one
right below `<!-- session -->` must be what its commands print: lines that begin
with `$ ` are run by bash with the tools on PATH, all of a page in one new folder that
has `examples`, and what follows is their output and errors, whether they fail or
not. A line `...` stands for any number of lines, `...` at the end of a line for
the rest of it; indentation does not count.

All fenced blocks of a page are of these two kinds. Unit tests that a page names as
`FooTest.Name` exist; for files that it names, see check_references.py.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BLOCK = re.compile(r"(?:^<!-- (from: (\S+)|session) -->\n)?^```(\w*)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
TEST = re.compile(r"`(\w+Test)\.(\w+)`")


def matches(expected, line):
    if expected.endswith("..."):
        return line.startswith(expected[:-3])
    return expected == line


def find(piece, lines, start):
    """The end of the first place of all lines of a piece, or none."""
    for first in range(start, len(lines) - len(piece) + 1):
        if all(map(matches, piece, lines[first:])):
            return first + len(piece)
    return None


def get_missing(excerpt, text, whole):
    """The first line of the first piece of an excerpt that a text lacks. With
    `whole` nothing but what `...` stands for may be before or behind it."""
    lines = [line.strip() for line in text.splitlines()]
    pieces = [[]]
    for line in excerpt.splitlines():
        if line.strip() == "...":
            pieces.append([])
        else:
            pieces[-1].append(line.strip())
    if whole and pieces[0] and find(pieces[0], lines[: len(pieces[0])], 0) is None:
        return pieces[0][0]
    if whole and pieces[-1] and find(pieces[-1], lines[-len(pieces[-1]) :], 0) is None:
        return pieces[-1][0]
    if whole and len(pieces) == 1 and len(lines) > len(pieces[0]):
        return lines[len(pieces[0])]
    at = 0
    for piece in pieces:
        at = find(piece, lines, at)
        if at is None:
            return piece[0]
    return None


class Shell:
    """Runs commands in a new folder."""

    def __init__(self, bin_folder, folder):
        self.path = os.path.abspath(bin_folder) + os.pathsep + os.environ["PATH"]
        self.folder = folder
        os.symlink(os.path.join(ROOT, "examples"), os.path.join(folder, "examples"))

    def run(self, command):
        result = subprocess.run(
            ["bash", "-c", command], cwd=self.folder, env=dict(os.environ, PATH=self.path),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        return result.stdout


def get_session_problems(block, shell):
    commands = re.split(r"^\$ ", block, flags=re.MULTILINE)
    if commands[0] or len(commands) < 2:
        yield "expected a session to begin with a command, but got '%s'" % block.split("\n")[0]
    for entry in commands[1:]:
        command, expected = re.match(r"((?:[^\n]*\\\n)*[^\n]*)\n(.*)", entry, re.DOTALL).groups()
        printed = shell.run(command)
        missing = get_missing(expected, printed, whole=True)
        if missing is not None:
            yield "'%s' does not print as shown '%s', but:\n%s" % (command, missing, printed)


def get_block_problems(text, shell):
    for kind, path, _, block in BLOCK.findall(text):
        if kind == "session":
            yield from get_session_problems(block, shell)
        elif not kind:
            yield "expected `from` or `session` above the block '%s...'" % block.split("\n")[0]
        elif not os.path.exists(os.path.join(ROOT, path)):
            yield "there is no " + path
        else:
            missing = get_missing(block, open(os.path.join(ROOT, path)).read(), whole=False)
            if missing is not None:
                yield "%s has nothing like what begins with '%s'" % (path, missing)


def get_name_problems(text):
    sources = glob.glob(os.path.join(ROOT, "test", "unit", "*", "*Test.cpp"))
    tests = "".join(open(path).read() for path in sources)
    for suite, name in TEST.findall(text):
        if not re.search(r"\b%s,\s*%s\b" % (suite, name), tests):
            yield "there is no unit test %s.%s" % (suite, name)


def main():
    bin_folder, *pages = sys.argv[1:]
    problems = blocks = 0
    for page in pages:
        text = open(page).read()
        blocks += len(BLOCK.findall(text))
        with tempfile.TemporaryDirectory() as folder:
            shell = Shell(bin_folder, folder)
            found = [*get_name_problems(text), *get_block_problems(text, shell)]
        for problem in found:
            problems += 1
            print("%s: %s" % (os.path.basename(page), problem))
    print("%d blocks, %d problems" % (blocks, problems))
    sys.exit(problems > 0)


if __name__ == "__main__":
    main()
