# SPDX-License-Identifier: Apache-2.0
"""Writes dumps of three tensors, made in the order c, b, a, and others beside it.

usage: write_dumps.py FOLDER
"""

import json
import os
import struct
import sys

ORDER = ["c", "b", "a"]


def write(name, tensors, trace=None):
    """`tensors` maps names to type, shape and bytes."""
    header, data = {}, b""
    if trace:
        header["__metadata__"] = {"trace": json.dumps(trace)}
    for tensor, (kind, shape, values) in tensors.items():
        header[tensor] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    with open(os.path.join(sys.argv[1], name), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def floats(*values):
    return ("F32", [len(values)], struct.pack("<%df" % len(values), *values))


def dump(a, b, c, prefix="step.1/micro.0/"):
    return {prefix + "a": a, prefix + "b": b, prefix + "c": c}


trace = [["step.1/micro.0/" + name, depth + 1, 2.0**-24] for depth, name in enumerate(ORDER)]
one = floats(1, 2, 2, 4)
right = dump(one, one, one)
write("ours.safetensors", right, trace)
write("near.safetensors", dump(floats(1, 2, 2, 4.0000005), one, one), trace)
write("wrong.safetensors", dump(floats(0, 0, 0, 0), floats(1, 2, 2, 1.5), one), trace)
write("bf16.safetensors", {"a": ("BF16", [4], struct.pack("<4H", 0x3F80, 0x4000, 0x4000, 0x4080))})
write("other.safetensors", dump(floats(1, 2, 3, 4), one, one, "module."))
write("shape.safetensors", dump(one, one, ("F32", [2, 2], one[2])), trace)
write("type.safetensors", dump(one, one, ("I32", [4], one[2])), trace)
write("trace.safetensors", right, trace + [["step.1/micro.0/d", 4, 0]])
for name, lines in {
    "one.txt": ["step.1/micro.0/a = a  # alone"],
    "names.txt": ["", "# ours = theirs", "step.1/micro.0/* = module.*"],
}.items():
    with open(os.path.join(sys.argv[1], name), "w") as file:
        file.write("\n".join(lines) + "\n")
