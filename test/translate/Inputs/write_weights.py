# SPDX-License-Identifier: Apache-2.0
"""Writes random parameters for a model, with faults on request.

usage: write_weights.py MODEL.mlir OUT.safetensors [FAULT...]

FAULT is -NAME (left out), +NAME (one more, of two elements) or NAME=OTHER (written
under another name), and cut (the file lacks its last byte).
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "e2e"))

import numpy
import safetensors
import training

model, path, *faults = sys.argv[1:]
shapes = training.Tools("", "").parameters(model)
tensors = training.random_parameters(shapes)
for fault in faults:
    if fault.startswith("-"):
        del tensors[fault[1:]]
    elif fault.startswith("+"):
        tensors[fault[1:]] = numpy.zeros(2, numpy.float32)
    elif "=" in fault:
        name, other = fault.split("=")
        tensors[other] = tensors.pop(name)
safetensors.save(path, tensors)
if "cut" in faults:
    os.truncate(path, os.path.getsize(path) - 1)
