# SPDX-License-Identifier: Apache-2.0
"""Prints how many elements of trained parameters a rank of each stage holds.

usage: elements_per_rank.py < MODEL

MODEL is a placed model on a mesh after mf-shard-optimizer: parameters are whole
and say by their layouts what a rank uses and, where ranks share storage out,
what it stores; a stage has those that its layers read.
"""

import math
import re
import sys

PARAM = re.compile(r"^mf\.param @(\S+) : tensor<([\dx]+)x\w+> init .*$")
LAYOUT = re.compile(r"(?:layout|stored) <\[((?:\[[\w, ]*\](?:, )?)*)\]")
STAGE = re.compile(r"placement = #mf\.placement<stage = (\d+)")


def read_mesh(text):
    sizes = re.search(r"mf\.mesh = #mf\.mesh<([^>]*)>", text)[1]
    return {axis: int(size) for axis, size in re.findall(r"(\w+) = (\d+)", sizes)}


def count_elements(shape, line, mesh):
    count = math.prod(map(int, shape.split("x")))
    layouts = LAYOUT.findall(line)
    for axis in re.findall(r"\w+", layouts[-1]) if layouts else []:
        count //= mesh[axis]
    return count


def main():
    text = sys.stdin.read()
    mesh, elements, stages, stage = read_mesh(text), {}, {}, None
    for line in map(str.strip, text.splitlines()):
        if match := PARAM.match(line):
            if "frozen" not in line:
                elements[match[1]] = count_elements(match[2], line, mesh)
        elif line.startswith("mf.layer"):
            stage = int(STAGE.search(line)[1])
        elif match := re.search(r"mf\.get_param @(\S+) ", line):
            stages.setdefault(stage, set()).add(match[1])
    for stage, names in sorted(stages.items()):
        print("stage %d: %d" % (stage, sum(elements.get(name, 0) for name in names)))


if __name__ == "__main__":
    main()
