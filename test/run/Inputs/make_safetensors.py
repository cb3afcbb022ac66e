# SPDX-License-Identifier: Apache-2.0
"""Safetensors files with the parameters of examples/two_layers.mlir: a good
one, and others with one thing wrong."""

import json
import math
import os
import struct
import sys

SHAPES = {
    "embedding.weight": [16, 8],
    "layers.0.norm.weight": [8],
    "layers.0.w1.weight": [8, 8],
    "layers.1.norm.weight": [8],
    "layers.1.w1.weight": [8, 8],
    "lm_head.weight": [16, 8],
}


def make(shapes):
    header, data = {}, b""
    for name, shape in sorted(shapes.items()):
        count = math.prod(shape)
        header[name] = {
            "dtype": "F32",
            "shape": shape,
            "data_offsets": [len(data), len(data) + 4 * count],
        }
        data += struct.pack("<f", 0.5) * count
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def write(name, contents):
    with open(os.path.join(sys.argv[1], name + ".safetensors"), "wb") as file:
        file.write(contents)


write("good", make(dict(SHAPES, extra=[3])))
write("shape", make(dict(SHAPES, **{"embedding.weight": [8, 16]})))
write("lacks", make({k: v for k, v in SHAPES.items() if k != "lm_head.weight"}))
write("cut", make(SHAPES)[:-1])
