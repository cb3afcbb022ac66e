#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes two configurations whose bits are not the same as small as they are not, and writes them as a test.

usage: minimise_pair.py BIN_FOLDER WORK_FOLDER EXPECTED.yaml ACTUAL.yaml TEST

The YAMLs are those of same_bits.py. What they share stays the same in both: delta debugging takes back differences,
leaves out blocks and lines of both and parts of lists, and makes numbers smaller. So what is left differs in nothing in which the
given YAMLs do not.
"""

import difflib
import os
import re
import shutil
import sys
from pathlib import Path

import same_bits
import training

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fuzz"))
from minimise import get_blocks, remove_some  # noqa: E402

# Minutes, also for a layout of many ranks.
MOST_RUNS = 600
# Times that of the pair that is given.
MOST_MEMORY = 4
NUMBER = re.compile(rb"(?<![\w.-])\d+(?![\w.])")
# More than one stage turns it off, so that without this line one stage has another program.
PINNED = re.compile(rb" *(?:vocab_emb_dp:|# losses:)")


def get_key(line):
    return line.partition(b"=" if line.startswith(b"#") else b":")[0]


def find_list(line, place):
    """The first list or map behind a place of a line: where its inside begins and ends, and its parts."""
    depths, parts, begin, last = [], [], None, None
    for index in range(place, len(line)):
        byte = line[index : index + 1]
        if byte in b"[{":
            depths.append(byte)
            begin, last = (index + 1, index + 1) if begin is None else (begin, last)
        ends = byte in b"]}" and len(depths) == 1
        if begin is not None and (ends or byte == b"," and len(depths) == 1):
            parts.append(line[last:index].strip())
            last = index + 1
        if ends:
            return begin, index, parts
        if byte in b"]}" and depths:
            depths.pop()
    return None


class Pair:
    """Lines of both configurations side by side, None where one has none."""

    def __init__(self, units):
        self.units = units

    @staticmethod
    def align(expected, actual):
        one, other = ([line for line in text.split(b"\n") if line.strip()] for text in (expected, actual))
        units = []
        matcher = difflib.SequenceMatcher(None, [get_key(line) for line in one], [get_key(line) for line in other], autojunk=False)
        for kind, begin, end, other_begin, other_end in matcher.get_opcodes():
            if kind == "equal":
                units += zip(one[begin:end], other[other_begin:other_end])
            else:
                units += [(line, None) for line in one[begin:end]] + [(None, line) for line in other[other_begin:other_end]]
        return Pair(units)

    def get_text(self, side):
        return b"".join(unit[side] + b"\n" for unit in self.units if unit[side] is not None)

    def get_differences(self):
        return [index for index, (one, other) in enumerate(self.units) if one != other]

    def keep_differences(self, kept):
        """The pair with all other differences taken back."""
        units = [unit if index in kept else (unit[0], unit[0]) for index, unit in enumerate(self.units)]
        return Pair([unit for unit in units if unit != (None, None)])

    def map_lines(self, change, indices):
        """The pair with both lines of some units changed by a function."""
        units = [
            tuple(line if line is None else change(line) for line in unit) if index in indices else unit
            for index, unit in enumerate(self.units)
        ]
        return Pair(units)


class Minimiser:
    """Runs of pairs with the tools of a folder, at most MOST_RUNS."""

    def __init__(self, tools):
        self.tools, self.runs, self.known, self.most_bytes = tools, 0, {}, None
        # Why the last pair does not fail.
        self.reason = None
        self.data = tools.path("text.txt")
        same_bits.write_data(self.data)

    def run(self, name, text):
        """A run, or why there is none; what was run before is remembered."""
        if text not in self.known:
            if self.runs == MOST_RUNS:
                return None
            self.runs += 1
            path = Path(self.tools.path(name + ".yaml"))
            path.write_bytes(text)
            try:
                self.known[text] = same_bits.Run(self.tools, self.data, str(path), self.most_bytes)
            except same_bits.NotComparable as error:
                self.known[text], self.reason = None, str(error)
        return self.known[text]

    def is_failing(self, pair):
        runs = []
        for side, name in enumerate(("expected", "actual")):
            runs.append(self.run(name, pair.get_text(side)))
            if not runs[-1]:
                return False
        try:
            if not any(same_bits.compare(*runs)):
                self.reason = "the same bits with the data and weights of same_bits.py"
                return False
        except same_bits.NotComparable as error:
            self.reason = str(error)
            return False
        # Defaults of keys that are left out may be huge.
        self.most_bytes = self.most_bytes or MOST_MEMORY * max(run.bytes for run in runs)
        return True

    def take_back(self, pair):
        return pair.keep_differences(remove_some(pair.get_differences(), lambda kept: self.is_failing(pair.keep_differences(kept))))

    def leave_out(self, pair):
        def get_line(unit):
            return unit[0] or unit[1]

        for indent in (0, 2, 4, 6):
            blocks = get_blocks(pair.units, indent, get_line)
            pinned = {index for index, block in enumerate(blocks) if any(PINNED.match(get_line(unit)) for unit in block)}

            def join(rest):
                return Pair(sum((blocks[index] for index in sorted(pinned.union(rest))), []))

            others = [index for index in range(len(blocks)) if index not in pinned]
            pair = join(remove_some(others, lambda rest: self.is_failing(join(rest))))
        return pair

    def shorten_lists(self, pair):
        """Leaves out parts of lists and maps."""
        for index in range(len(pair.units)):
            for side in (0, 1):
                place = 0
                while (line := pair.units[index][side]) and (found := find_list(line, place)):
                    begin, end, parts = found

                    def change(parts):
                        text = line[:begin] + b", ".join(parts) + line[end:]
                        return pair.map_lines(lambda other: text if other == line else other, [index])

                    pair = change(remove_some(parts, lambda rest: self.is_failing(change(rest))))
                    place = begin
        return pair

    def replace(self, pair, number, by, indices):
        trial = pair.map_lines(lambda line: NUMBER.sub(lambda found: by if found[0] == number else found[0], line), indices)
        return trial if trial.units != pair.units and self.is_failing(trial) else None

    def make_smaller(self, pair):
        """Makes numbers smaller: one that lines share in all of them at once, then each line's."""
        every = range(len(pair.units))
        for indices in [every] + [[index] for index in every]:
            lines = b"\n".join(line for index in indices for line in pair.units[index] if line is not None)
            for number in sorted(set(NUMBER.findall(lines))):
                while int(number) > 1:
                    smaller = [b"%d" % n for n in sorted({1, 2, int(number) // 2}) if 0 < n < int(number)]
                    done = [(by, trial) for by in smaller if (trial := self.replace(pair, number, by, indices))][:1]
                    if not done:
                        break
                    (number, pair) = done[0]
        return pair

    def minimise(self, pair):
        before = None
        while before != pair.units:
            before = pair.units
            for step in (self.take_back, self.make_smaller, self.leave_out, self.shorten_lists):
                pair = step(pair)
        return pair


def count_lines(pair):
    return len(pair.units), len(pair.get_differences())


def write_test(tools, pair, test, origin):
    """Minimises a pair into a test; returns what it did."""
    os.makedirs(tools.work, exist_ok=True)
    minimiser, before = Minimiser(tools), count_lines(pair)
    if not minimiser.is_failing(pair):
        return "no test: " + minimiser.reason
    pair = minimiser.minimise(pair)
    after = count_lines(pair)
    said = "%d lines of %d, %d instead of %d with differences, after %d runs" % (after[0], before[0], after[1], before[1], minimiser.runs)
    text = b"# %s: %s.\n# REQUIRES: numpy\n# RUN: split-file %%s %%t\n" % (origin.encode(), said.encode())
    text += b"# RUN: %python %mf-source/test/e2e/same_bits.py %mf-build/bin %t %t/expected.yaml %t/actual.yaml\n"
    for side, name in enumerate((b"expected", b"actual")):
        text += b"#--- %s.yaml\n%s" % (name, pair.get_text(side))
    os.makedirs(os.path.dirname(test), exist_ok=True)
    Path(test).write_bytes(text)
    return "%s: %s" % (test, said)


class FoundTests:
    """Writes tests of the pairs that a campaign finds into `folder`, if that is not None."""

    def __init__(self, tools, folder, origin):
        self.tools = training.Tools(tools.bin, tools.path("minimised"))
        self.folder, self.origin, self.count = folder, origin, 0

    @staticmethod
    def add_option(parser):
        parser.add_argument("--tests", metavar="FOLDER", help="minimise what has other bits, and write it as tests")

    @staticmethod
    def pop_folder():
        """Takes `--tests=FOLDER` out of sys.argv."""
        found = [argument for argument in sys.argv if argument.startswith("--tests=")]
        sys.argv[:] = [argument for argument in sys.argv if argument not in found]
        return found[0].partition("=")[2] if found else None

    def add(self, expected, actual):
        """Yields what became of two descriptions (training.Tools.describe) that should have the same bits and do not."""
        if not self.folder:
            return
        self.count += 1
        shutil.rmtree(self.tools.work, ignore_errors=True)
        pair = Pair.align(expected.encode(), actual.encode())
        test = os.path.join(self.folder, "%s-%d.test" % (self.origin, self.count))
        yield write_test(self.tools, pair, test, "Found by " + self.origin)


def main():
    tools = training.Tools(*sys.argv[1:3])
    pair = Pair.align(*(Path(path).read_bytes() for path in sys.argv[3:5]))
    print(write_test(tools, pair, sys.argv[5], "Found by hand"))


if __name__ == "__main__":
    main()
