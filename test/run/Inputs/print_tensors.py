# SPDX-License-Identifier: Apache-2.0
"""Prints the fp32 tensors of safetensors files: name, shape and values."""

import json
import struct
import sys


def main():
    for path in sys.argv[1:]:
        with open(path, "rb") as file:
            content = file.read()
        (size,) = struct.unpack("<Q", content[:8])
        header = json.loads(content[8 : 8 + size])
        header.pop("__metadata__", None)
        for name in sorted(header):
            begin, end = header[name]["data_offsets"]
            data = content[8 + size + begin : 8 + size + end]
            values = struct.unpack("<%df" % (len(data) // 4), data)
            print("%s %s: %s" % (name, header[name]["shape"], " ".join("%g" % v for v in values)))


if __name__ == "__main__":
    main()
