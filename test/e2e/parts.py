# SPDX-License-Identifier: Apache-2.0
"""Parts of a campaign: with `--part=K/N` among a script's arguments, its cases K, K + N, ... only."""

import sys


class Part:
    def __init__(self, text=None):
        self.first, self.count = map(int, text.split("/")) if text else (0, 1)
        if not 0 <= self.first < self.count:
            sys.exit("error: --part=%s: expected K/N with K from 0 to N - 1" % text)

    def is_whole(self):
        return self.count == 1

    def has(self, index):
        return index % self.count == self.first

    def select(self, items):
        return [item for index, item in enumerate(items) if self.has(index)]


def pop_part():
    """Takes `--part=K/N` out of sys.argv."""
    for argument in sys.argv[1:]:
        if argument.startswith("--part="):
            sys.argv.remove(argument)
            return Part(argument.partition("=")[2])
    return Part()
