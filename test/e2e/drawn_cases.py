# SPDX-License-Identifier: Apache-2.0
"""Checks cases that are drawn at random, each from a generator of its own, so that --first can name it."""

import argparse
import os
import random
import sys

import minimise_pair
import parts


class DrawnCases:
    """The options that scripts of drawn cases share, and a run over their cases."""

    def __init__(self):
        self.part = parts.pop_part()
        self.parser = argparse.ArgumentParser()
        self.parser.add_argument("--seed", type=int, default=1)
        self.parser.add_argument("--count", type=int, default=8)
        self.parser.add_argument("--first", type=int, default=0)
        self.parser.add_argument("--verbose", action="store_true")
        minimise_pair.FoundTests.add_option(self.parser)
        self.parser.add_argument("bin")
        self.parser.add_argument("work")

    def parse(self):
        """The arguments; the folder `work` is there then."""
        self.arguments = self.parser.parse_args()
        os.makedirs(self.arguments.work, exist_ok=True)
        return self.arguments

    def run(self, draw, check, others=()):
        """Draws a case for each number, and for each name in `others`, by draw(number, generator), and prints what
        check(case, generator) yields. Returns how many cases there were, and how many had problems."""
        arguments, problems = self.arguments, 0
        numbers = range(arguments.first, arguments.first + arguments.count)
        selected = self.part.select([*numbers, *others])
        for number in selected:
            generator = random.Random("%d %s" % (arguments.seed, number))
            case = draw(number, generator)
            try:
                found = list(check(case, generator))
            except RuntimeError as error:
                found = [str(error)[-1500:]]
            problems += bool(found)
            if found or arguments.verbose:
                print("draw %s of seed %d: %s" % (number, arguments.seed, case))
            for problem in found:
                print("    " + problem)
            sys.stdout.flush()
        return len(selected), problems
