#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the input of a command that fails as small as it fails, and writes it as a test.

    test/fuzz/minimise.py damaged.yaml --test found.test -- mf-translate --import-mindformers {} -o {out}

The command fails if a signal ends it, if it takes longer than --limit seconds, or, with --says, if its output fits that pattern.
`{}` stands for the input and `{out}` for a file to write; `--` may separate several commands, which run one after the other as long as
they succeed. mf-reduce begins with an .mlir file. Then delta debugging leaves out blocks of lines with what is indented below them,
then lines, and outside of IR words, while the command fails. The test runs the commands on what is left; it
fails until they do not.
"""

import argparse
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path


class Failure:
    """What a command does that it must not do."""

    def __init__(self, commands, says=None, limit=60):
        self.commands, self.limit, self.runs = commands, limit, 0
        self.says = re.compile(says) if says else None

    def is_shown_by(self, path):
        """Whether the commands fail on a file."""
        self.runs += 1
        with tempfile.TemporaryDirectory() as folder:
            values = {"{}": str(path), "{out}": folder + "/out"}
            for command in self.commands:
                words = [re.sub(r"\{(?:out)?\}", lambda found: values[found[0]], word) for word in command]
                try:
                    done = subprocess.run(
                        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=self.limit,
                    )  # fmt: skip
                except subprocess.TimeoutExpired:
                    return not self.says
                if self.says and self.says.search(done.stdout.decode(errors="replace")):
                    return True
                # A shell's code for a signal is that of a tool's own child.
                if done.returncode < 0 or done.returncode > 128:
                    return not self.says
                if done.returncode:
                    return False
        return False

    def get_script(self, path):
        """A line of a test that succeeds once the commands do not fail, on a file of which `path` is the name there."""
        lines = []
        for command in self.commands:
            words = [Path(command[0]).name, *command[1:]]
            words = [word.replace("{out}", "%t.out").replace("{}", path) for word in words]
            lines.append(" ".join(word if re.fullmatch(r"%[\w.]+", word) else shlex.quote(word) for word in words))
        joined = " && ".join(lines)
        if self.says:
            joined = "{ %s; } > %%t.said 2>&1; ! grep -qE %s %%t.said" % (joined, shlex.quote(self.says.pattern))
        else:
            joined += "; test $? -le 1"
        return "sh -c " + shlex.quote(joined)


def remove_some(items, is_failing):
    """Delta debugging: a list of which no single item can be left out, and mostly no run of them."""
    size = max(1, len(items) // 2)
    while True:
        begin, removed = 0, False
        while begin < len(items):
            rest = items[:begin] + items[begin + size :]
            if len(rest) < len(items) and is_failing(rest):
                items, removed = rest, True
            else:
                begin += size
        if size > 1:
            size //= 2
        elif not removed:
            return items


def get_indent(line):
    return len(line) - len(line.lstrip(b" "))


def get_blocks(items, indent, get_line=lambda line: line):
    """Items whose lines have this many spaces, each with the deeper ones that follow."""
    blocks = []
    for item in items:
        line = get_line(item)
        if blocks and (get_indent(line) > indent or not line.strip()):
            blocks[-1].append(item)
        else:
            blocks.append([item])
    return blocks


def minimise_text(data, is_failing, has_words=True):
    """Bytes that fail like `data`, by a function of bytes."""
    for indent in sorted({get_indent(line) for line in data.split(b"\n")}):
        blocks = get_blocks(data.split(b"\n"), indent)
        blocks = remove_some(blocks, lambda rest: is_failing(b"\n".join(sum(rest, []))))
        data = b"\n".join(sum(blocks, []))
    lines = remove_some(data.split(b"\n"), lambda rest: is_failing(b"\n".join(rest)))
    if not has_words:
        return b"\n".join(lines) + b"\n"
    words = re.findall(rb"\s+|[\w.]+|[^\w\s]", b"\n".join(lines))
    return b"".join(remove_some(words, lambda rest: is_failing(b"".join(rest))))


def minimise_ir(path, script, tools):
    """What mf-reduce leaves of a module for which this script, run again, says that it fails."""
    with tempfile.TemporaryDirectory() as folder:
        test, left = Path(folder, "test.sh"), Path(folder, "left.mlir")
        # Exit code 1 says that a module is interesting.
        test.write_text("#!/bin/sh\n%s --shows \"$1\" && exit 1\nexit 0\n" % script)
        test.chmod(0o755)
        command = [str(Path(tools, "mf-reduce")), str(path), "-reduction-tree=traversal-mode=0 test=%s" % test, "-o", str(left)]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return (path if done.returncode else left).read_bytes()


def minimise(path, failure, folder, script=None, tools=""):
    """The smallest contents found; of a text if there is no script to judge IR."""
    trial = Path(folder, "trial" + path.suffix)

    def is_failing(data):
        trial.write_bytes(data)
        return failure.is_shown_by(trial)

    data = minimise_ir(path, script, tools) if script else path.read_bytes()
    # The failure may not survive printing.
    return minimise_text(data if is_failing(data) else path.read_bytes(), is_failing, has_words=not script)


def write_test(path, source, data, failure, origin):
    """A test of lit. Text stands behind its header as a file of its own, as it may have no comments; IR may."""
    before = source.stat().st_size
    head = "%s; minimised from %d to %d bytes by %d runs." % (origin, before, len(data), failure.runs)
    if source.suffix == ".mlir":
        text = "// %s\n// RUN: %s\n" % (head, failure.get_script("%s"))
    else:
        name = "input" + source.suffix
        text = "# %s\n# RUN: split-file %%s %%t.dir\n# RUN: %s\n#--- %s\n" % (head, failure.get_script("%t.dir/" + name), name)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() + data)


def write_crash_test(path, commands, damaged, folder, origin):
    """Writes a test of a crash of tools on one damaged file, if nothing else in `folder` is an input; returns what it did."""
    words = [word for command in commands for word in command]
    given = [file for file in damaged if any(str(file) in word for word in words)]
    if len(given) != 1 or given[0].suffix not in (".yaml", ".json", ".mlir"):
        return "no test: it has more inputs than one text"
    template = [
        [word.replace(str(given[0]), "{}").replace(str(given[0].parent) + "/", "{out}.") for word in command] for command in commands
    ]
    if any(str(folder) in word for command in template for word in command):
        return "no test: it has more inputs than one text"
    failure = Failure(template)
    if not failure.is_shown_by(given[0]):
        return "no test: it does not happen again"
    with tempfile.TemporaryDirectory() as scratch:
        data = minimise(given[0], failure, scratch)
    write_test(path, given[0], data, failure, origin)
    return "test of %d bytes: %s" % (len(data), path)


def split(words):
    """Commands between `--`."""
    commands = [[]]
    for word in words:
        if word == "--":
            commands.append([])
        else:
            commands[-1].append(word)
    return [command for command in commands if command]


def main():
    own, rest = sys.argv[1:], []
    if "--" in own:
        own, rest = own[: own.index("--")], own[own.index("--") + 1 :]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("input", type=Path)
    parser.add_argument("--test", help="the test to write")
    parser.add_argument("--says", help="a pattern of what the failing command prints")
    parser.add_argument("--limit", type=float, default=60, help="seconds")
    parser.add_argument("--tools", default="", help="the folder of mf-reduce, if it is not on the path")
    parser.add_argument("--origin", default="Found by hand", help="what the test says of where the input is from")
    parser.add_argument("--shows", action="store_true", help="say by the exit code 0 that the input fails, and do no more")
    options = parser.parse_args(own)
    failure = Failure(split(rest), options.says, options.limit)
    if options.shows or not failure.is_shown_by(options.input):
        if not options.shows:
            print("error: %s does not make the command fail; expected a signal, a hang or what --says has" % options.input)
        return 0 if options.shows and failure.is_shown_by(options.input) else 1
    script = None
    if options.input.suffix == ".mlir":
        says = ["--says", options.says] if options.says else []
        again = [sys.executable, __file__, *says, "--limit=%g" % options.limit]
        script = "run() { %s \"$2\" \"$1\" -- %s; }; run" % (shlex.join(again), shlex.join(rest))
    with tempfile.TemporaryDirectory() as folder:
        data = minimise(options.input, failure, folder, script, options.tools)
    print("%d of %d bytes fail" % (len(data), options.input.stat().st_size))
    if options.test:
        write_test(options.test, options.input, data, failure, options.origin)
    return 0


if __name__ == "__main__":
    sys.exit(main())
