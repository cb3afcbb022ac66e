# SPDX-License-Identifier: Apache-2.0
"""Reads and writes safetensors files with numpy (fp32, integers and raw bytes)."""

import json
import struct

import numpy

_TYPES = {"F32": numpy.float32, "I32": numpy.int32, "I64": numpy.int64}


def read(path):
    """The entry of the header and the raw bytes of each tensor, by name."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    header.pop("__metadata__", None)
    return {name: (entry, data[slice(*entry["data_offsets"])]) for name, entry in header.items()}


def load(path):
    """All tensors of a file, by name. bf16 comes back as fp32."""
    tensors = {}
    for name, (entry, raw) in read(path).items():
        if entry["dtype"] == "BF16":
            wide = numpy.frombuffer(raw, numpy.uint16).astype(numpy.uint32) << 16
            array = wide.view(numpy.float32)
        else:
            array = numpy.frombuffer(raw, _TYPES[entry["dtype"]])
        tensors[name] = array.reshape(entry["shape"])
    return tensors


def load_bytes(path):
    """The raw bytes of each tensor, for bitwise comparison."""
    return {name: raw for name, (_, raw) in read(path).items()}


def save(path, tensors):
    """Writes integers as they are, and all other arrays in fp32."""
    header, offset, chunks = {}, 0, []
    names = {numpy.dtype(kind): name for name, kind in _TYPES.items()}
    for name in sorted(tensors):
        array = numpy.asarray(tensors[name])
        array = numpy.ascontiguousarray(array, array.dtype if array.dtype in names else numpy.float32)
        header[name] = {
            "dtype": names[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [offset, offset + array.nbytes],
        }
        offset += array.nbytes
        chunks.append(array.tobytes())
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)))
        file.write(text)
        for chunk in chunks:
            file.write(chunk)
