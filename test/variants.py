# SPDX-License-Identifier: Apache-2.0
"""Prints a test's programs, each as short in the test as what it shows.

usage: variants.py FILE...

Programs of FILEs, one text, are separated by empty lines; comments with an empty line behind them belong to no program, and aliases with an
empty line behind them to each. Lines of a program that begin with a sign change the first program:

    = LINE    with this line instead of the one that begins most like it, and with the same word;
              `// expected-...` right before it stays there
    - TEXT    without the line that begins with TEXT
    - ...     and without the lines up to the next `-` line
    @ TEXT    behind the line that begins with TEXT
    + LINE    with this line, in the place of the last `=`, `-` or `@` line
    ^         before all others: they change the program above instead of the first one

Other programs stay as they are. Where no operator has a region, an operand that no line defines becomes the result of a `"test.value"`
before its operator, of the type that the operator writes for this operand. In a region, an operand %x that no line defines is that of
an `ascend.static @x` or an `mf.param @x`, or else memory of its own if it is that of an `ascend.launch`.

`%variants` is this script in RUN lines; `mf-opt --split-input-file` reads what it prints.
"""

import os
import re
import sys

SEPARATOR = "// -----\n"
VALUE = re.compile(r"%[A-Za-z_]\w*")
SYMBOL = re.compile(r"\s*(ascend\.static|mf\.param) @(\w+) [^:]*: (\S+<[^>]*>)")
LAUNCH = re.compile(r'ascend\.launch "\w+" ?\((.*?)\) -> \((.*?)\).*: \(([^()]*)\)\s*-> \(?([^()]*)\)?$', re.DOTALL)
READ = {"ascend.static": "ascend.global", "mf.param": "mf.get_param"}


class Variant:
    """Lines of a program, some of which are left out or come behind others."""

    def __init__(self, program):
        self.program, self.removed, self.added = program, set(), [[] for _ in program]
        self.place, self.is_gap = None, False

    def find(self, text):
        found = [index for index, line in enumerate(self.program) if line.strip().startswith(text)]
        if len(found) != 1:
            raise ValueError("expected one line of the program that begins with this, but there are %d" % len(found))
        return found[0]

    def find_alike(self, text):
        """The line that begins most like a text."""
        word = text.split()[0]
        alike = [
            (len(os.path.commonprefix([line.strip(), text])), index)
            for index, line in enumerate(self.program)
            if line.split()[:1] == [word]
        ]
        most = [index for length, index in alike if length == max(alike)[0]]
        if len(most) != 1:
            raise ValueError("expected one line of the program that begins most like this, but there are %d" % len(most))
        return most[0]

    def change(self, sign, text, diagnostics):
        if sign == "=":
            self.place, self.is_gap = self.find_alike(text), False
            self.removed.add(self.place)
            self.added[self.place] += [*diagnostics, text + "\n"]
        elif sign == "+":
            if self.place is None:
                raise ValueError("expected a line with =, - or @ before it")
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


def split_types(text):
    """The types of a list, or of a custom form with words between them."""
    types, depth, start = [], 0, 0
    for index, letter in enumerate(text):
        depth += (letter in "<([{") - (letter in ">)]}")
        if depth == 0 and letter in ", ":
            types.append(text[start:index])
            start = index + 1
    types.append(text[start:])
    return [each for each in types if re.match(r"!|tensor|vector|memref|[if]\d", each)]


def pair_operands(line):
    """An operator's operands with the types that it writes for them, in their order."""
    code = re.sub(r'"[^"]*"', lambda text: "_" * len(text[0]), line).replace("->", "__")
    depths, depth = [], 0
    for letter in code:
        depth += (letter in "<([{") - (letter in ">)]}")
        depths.append(depth)
    colon = max((at for at in range(len(code)) if code.startswith(" : ", at) and depths[at] == 0), default=None)
    if colon is None:
        return []
    types = line[colon + 3 :].strip()
    if types.startswith("("):
        end = next(at for at in range(colon + 3, len(code)) if depths[at] == 0 and code[at] == ")")
        types = line[colon + 4 : end]
    else:
        types = types.split(" -> ")[0]
    first = re.match(r"\s*%[^=]* = ", line)
    operands = VALUE.findall(code[first.end() if first else 0 : colon])
    return list(zip(operands, split_types(types)))


def add_values(lines):
    """Lines with the operands that none defines; an operator's comments stay before it."""
    defined, comments = set(), []
    for line in lines:
        if line.lstrip().startswith("//"):
            comments.append(line)
            continue
        results = re.match(r"\s*((?:%\w+(?::\d+)?(?:, )?)+) = ", line)
        for operand, kind in pair_operands(line):
            if operand not in defined:
                defined.add(operand)
                yield '%s%s = "test.value"() : () -> %s\n' % (re.match(" *", line)[0], operand, kind)
        defined.update(VALUE.findall(results[1]) if results else ())
        yield from (*comments, line)
        comments = []
    yield from comments


def pair_buffers(lines):
    """The memory of the launch that begins lines, with its types."""
    end = next((at for at, line in enumerate(lines[1:], 1) if not line.strip().startswith((":", "->", "workspace"))), len(lines))
    launch = "".join(lines[:end]).strip()
    found = LAUNCH.match(launch)
    pairs = re.findall(r"workspace\((%\w+) : ([^)]+)\)", launch) if found else []
    for names, types in ((found[1], found[3]), (found[2], found[4])) if found else ():
        pairs += zip(names.split(", "), split_types(types))
    return pairs


def add_reads(lines):
    """Lines with the statics, parameters and memory that operators in a region read by their names."""
    symbols = {"%" + found[2]: found for found in map(SYMBOL.match, lines) if found}
    defined, comments = set(), []
    for number, line in enumerate(lines):
        if line.lstrip().startswith("//"):
            comments.append(line)
            continue
        code = re.sub(r'"[^"]*"|//.*', "", line)
        results, _, operands = code.rpartition(" = ascend." if " = ascend." in code else " = mf.")
        defined.update(VALUE.findall(results), re.findall(r"(%\w+): ", code))
        for name in VALUE.findall(operands):
            if name in symbols and name not in defined:
                defined.add(name)
                kind, symbol, type = symbols[name].groups()
                yield "%s%s = %s @%s : %s\n" % (re.match(" *", line)[0], name, READ[kind], symbol, type)
        for name, type in pair_buffers(lines[number:]) if "ascend.launch" in line else ():
            if name not in defined:
                defined.add(name)
                yield "%s%s = ascend.alloc : %s\n" % (re.match(" *", line)[0], name, type)
        yield from (*comments, line)
        comments = []
        if line.strip() == "}":
            defined.clear()
    yield from comments


def is_alone(lines):
    """True if no operator has a region, but for a module around all."""
    code = [line.split("//")[0] for line in lines]
    return not any(line.rstrip().endswith("{") and not line.startswith("module") for line in code)


def split(text):
    """Paragraphs with the number of their first line."""
    lines, first = text.splitlines(keepends=True), 0
    for index, line in enumerate([*lines, "\n"]):
        if line in ("\n", SEPARATOR):
            if index > first:
                yield first + 1, lines[first:index]
            first = index + 1


def is_common(lines):
    """True of aliases alone that are no program with a mistake."""
    return all(line.startswith(("//", "#", "  ")) and "expected-" not in line for line in lines)


def expand(text):
    """The programs, with variants and values in whole; a ValueError names the line that does not fit."""
    aliases, first, above = [], None, None
    for number, lines in split(text):
        if all(line.startswith("//") for line in lines):
            continue
        if is_common(lines):
            aliases += lines
            continue
        is_above = "^\n" in lines
        variant, comments, diagnostics = Variant(above if is_above else first or lines), [], []
        for number, line in enumerate(lines, number):
            change = re.match(r"([-+@=]) +(.*)", line)
            try:
                if change:
                    variant.change(*change.groups(), diagnostics)
                    comments += diagnostics if change[1] != "=" else []
                    diagnostics = []
                elif line.startswith("// expected-"):
                    diagnostics.append(line)
                elif line != "^\n":
                    comments.append(line)
            except ValueError as error:
                raise ValueError("%d: %s: %s" % (number, line.rstrip(), error)) from None
        above = lines
        if variant.place is not None:
            above = list(variant.get_lines())
            lines = [*comments, *above]
        first = first or lines
        yield "".join([*aliases, *(add_values(lines) if is_alone(lines) else add_reads(lines))])


def main():
    text = "\n".join(open(path).read() for path in sys.argv[1:])
    try:
        programs = list(expand(text))
    except ValueError as error:
        sys.exit("%s:%s" % (sys.argv[-1], error))
    if not programs:
        sys.exit("%s: expected at least one program" % sys.argv[-1])
    sys.stdout.write(SEPARATOR.join(programs))


if __name__ == "__main__":
    main()
