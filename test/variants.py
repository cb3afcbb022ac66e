# SPDX-License-Identifier: Apache-2.0
"""Prints a test's programs of which most are another one with a change.

usage: variants.py FILE

Sections of FILE are separated by `// -----`. Lines of a section that begin with a sign change the first section:

    - TEXT    without the line that begins with TEXT
    - ...     and without the lines up to the next `-` line
    @ TEXT    behind the line that begins with TEXT
    + LINE    with this line, in the place of the last `-` or `@` line

Other sections stay as they are. `%variants` is this script in RUN lines; `mf-opt --split-input-file` reads what it prints.
"""

import re
import sys

SEPARATOR = "// -----\n"


class Variant:
    """Lines of a program, some of which are left out or come behind others."""

    def __init__(self, program):
        self.program, self.removed, self.added = program, set(), [[] for _ in program]
        self.place, self.is_gap = None, False

    def find(self, text):
        found = [index for index, line in enumerate(self.program) if line.strip().startswith(text)]
        if len(found) != 1:
            raise ValueError("expected one line of the first program that begins with this, but there are %d" % len(found))
        return found[0]

    def change(self, sign, text):
        if sign == "+":
            if self.place is None:
                raise ValueError("expected a line with - or @ before it")
            self.added[self.place].append(text + "\n")
        elif text == "...":
            self.is_gap = True
        else:
            first, self.place = self.place, self.find(text)
            if sign == "-":
                self.removed.update(range(first if self.is_gap else self.place, self.place + 1))
            self.is_gap = False

    def get_lines(self):
        for index, line in enumerate(self.program):
            if index not in self.removed:
                yield line
            yield from self.added[index]


def expand(text):
    """The sections with variants as whole programs; a ValueError names the line that does not fit."""
    sections, number = text.split(SEPARATOR), 1
    program = sections[0].splitlines(keepends=True)
    for section in sections:
        variant, comments = Variant(program), []
        for line in section.splitlines():
            change = re.match(r"([-+@]) +(.*)", line)
            try:
                if change:
                    variant.change(*change.groups())
                else:
                    comments.append(line + "\n")
            except ValueError as error:
                raise ValueError("%d: %s: %s" % (number, line, error)) from None
            number += 1
        number += 1
        yield "".join([*comments, *variant.get_lines()]) if variant.place is not None else section


def main():
    with open(sys.argv[1]) as file:
        text = file.read()
    try:
        sys.stdout.write(SEPARATOR.join(expand(text)))
    except ValueError as error:
        sys.exit("%s:%s" % (sys.argv[1], error))


if __name__ == "__main__":
    main()
