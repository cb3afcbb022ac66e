# SPDX-License-Identifier: Apache-2.0
"""Prints the kernels of which two runs of mfKernelsTest's BitsTest have other bits, and how many have the same.

usage: differing_kernels.py OUTPUT OUTPUT
"""

import re
import sys


def read(path):
    """(kernel, bits) of each example."""
    with open(path) as file:
        return re.findall(r"^bits of (\w+): (\w+)$", file.read(), re.MULTILINE)


def main():
    here, there = (read(path) for path in sys.argv[1:3])
    if not here or [name for name, _ in here] != [name for name, _ in there]:
        sys.exit("error: the runs have other examples")
    differing = sorted({name for (name, ours), (_, theirs) in zip(here, there) if ours != theirs})
    print("\n".join(differing))
    print("%d kernels, %d with other bits" % (len({name for name, _ in here}), len(differing)))


if __name__ == "__main__":
    main()
