# SPDX-License-Identifier: Apache-2.0
"""Compares the tensors of two safetensors files in fp32: each element may differ by
the given part of the largest of its tensor."""

import json
import struct
import sys


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        assert entry["dtype"] == "F32", f"{name} is {entry['dtype']}"
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        numbers = struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
        tensors[name] = (entry["shape"], numbers)
    return tensors


def main():
    actual, expected = read(sys.argv[1]), read(sys.argv[2])
    assert actual.keys() == expected.keys(), "other names"
    for name, (shape, numbers) in expected.items():
        assert actual[name][0] == shape, f"{name}: other shape"
        largest = max(map(abs, numbers))
        error = max(abs(a - b) for a, b in zip(actual[name][1], numbers))
        assert error <= float(sys.argv[3]) * largest, f"{name}: {error}"


main()
