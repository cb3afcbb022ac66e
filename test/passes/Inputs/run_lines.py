# SPDX-License-Identifier: Apache-2.0
"""RUN lines of lit tests, read and run with a pass taken out.

Knows the substitutions that tests of passes use.
"""

import os
import re
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def read(path):
    """The commands of a test's RUN lines, continued ones joined, for each word of EACH."""
    commands, joined, words = [], "", [""]
    for line in open(path):
        words = line.partition("EACH:")[2].split() or words
        match = re.search(r"\bRUN:(.*)", line)
        if not match:
            continue
        joined += " " + match.group(1).strip()
        if joined.endswith("\\"):
            joined = joined[:-1]
            continue
        commands.append(joined.strip())
        joined = ""
    return [command.replace("%each", word) for word in words for command in commands]


def _pattern(argument):
    """A pass as an option or inside a pipeline, with its own options."""
    values = r"""(?:\{[^}]*\}|=(?:"[^"]*"|'[^']*'|\S*))?"""
    return re.compile(r"(?<=[\s'\"(,-])(?:--?)?%s(?![\w-])%s" % (re.escape(argument), values))


def names(command, argument):
    """True if the command runs the pass."""
    return bool(re.search(r"mf-opt\b|%roundtrip\b", command) and _pattern(argument).search(command))


def without(command, argument):
    """The command with the pass taken out of options and pipelines."""
    text = re.sub(r"(?<=\s)--?(?=%s(?![\w-]))" % re.escape(argument), "", command)
    text = _pattern(argument).sub("", text)
    text = re.sub(r"\(,", "(", re.sub(r",(?=[,)])", "", text))
    # Nested pipelines must not be empty.
    while re.search(r"[\w.]+\(\)", text):
        text = re.sub(r",?[\w.]+\(\)", "", text)
    return re.sub(r"--?pass-pipeline=(\"\"|'')", "", text)


class Shell:
    """Runs commands of one test as lit would."""

    def __init__(self, build, llvm_tools, work):
        self.build, self.llvm_tools, self.work = build, llvm_tools, work

    def substitute(self, command, test):
        path = os.path.abspath(test)
        table = {
            "%roundtrip": "mf-opt",
            "%variants": "python3 " + os.path.join(ROOT, "test", "variants.py"),
            "%messages": "python3 " + os.path.join(ROOT, "test", "message_table.py"),
            "%examples": os.path.join(ROOT, "examples"),
            "%test-data": os.path.join(ROOT, "test", "data"),
            "%python": "python3",
            "%s": path,
            "%S": os.path.dirname(path),
            "%t": os.path.join(self.work, os.path.basename(path) + ".tmp"),
        }
        pieces = command.split("%%")
        for name, value in table.items():
            pattern = re.compile(re.escape(name) + r"(?![\w-])")
            pieces = [pattern.sub(lambda _, v=value: v, piece) for piece in pieces]
        return "%".join(pieces)

    def run(self, command, test):
        tools = os.pathsep.join((os.path.join(self.build, "bin"), self.llvm_tools, os.environ["PATH"]))
        environment = dict(os.environ, PATH=tools, FILECHECK_OPTS="-enable-var-scope")
        return subprocess.run(
            ["bash", "-o", "pipefail", "-c", self.substitute(command, test)],
            env=environment, cwd=self.work, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        )  # fmt: skip
