# SPDX-License-Identifier: Apache-2.0
"""Runs the cases of a comparison with PyTorch."""

import sys

import numpy
import parts
import torch
import training


def write_words(path):
    """4000 of 200 different words, so that there is something to learn."""
    random = numpy.random.RandomState(1)
    words = [bytes(random.randint(97, 123, random.randint(2, 9)).tolist()) for _ in range(200)]
    with open(path, "wb") as file:
        file.write(b" ".join(words[i] for i in random.randint(0, 200, 4000)))


def run_cases(cases, compare, write_text=write_words):
    """Compares the cases of this part, or those of the command line, on the text that `write_text` writes to a path."""
    part = parts.pop_part()
    tools = training.Tools(sys.argv[1], sys.argv[2])
    torch.set_num_threads(1)
    data = tools.path("text.txt")
    write_text(data)
    failed = [name for name in part.select(sys.argv[3:] or cases) if not compare(name, tools, data)]
    if failed:
        sys.exit("error: beyond the tolerance: " + ", ".join(failed))
