# SPDX-License-Identifier: Apache-2.0
"""Checks merged weights of linear layers and of routed experts: W + B A alpha/r, and W + A B alpha/r of each expert.

usage: check_merged.py E2E_FOLDER SCALE TRAINED.safetensors MERGED.safetensors
"""

import sys

sys.path.insert(0, sys.argv[1])
import numpy
import safetensors

scale = float(sys.argv[2])
trained, merged = (safetensors.load(path) for path in sys.argv[3:])
changed = {"linear": 0, "experts": 0}
for name, weight in merged.items():
    linear, experts = name[: -len("weight")] + "lora_%s", name + "_lora_%s"
    kind = "linear" if linear % "a" in trained else "experts" if experts % "a" in trained else None
    expected = trained[name]
    if kind:
        a, b = (trained[(linear if kind == "linear" else experts) % letter] for letter in "ab")
        change = scale * (b @ a if kind == "linear" else a @ b)
        assert numpy.abs(change).max() > 1e-4, name
        expected = expected + change
        changed[kind] += 1
    assert numpy.allclose(weight, expected, rtol=0, atol=1e-7), name
assert not [name for name in merged if "lora" in name]
print(changed)
