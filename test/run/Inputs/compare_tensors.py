# SPDX-License-Identifier: Apache-2.0
"""Compares the tensors of two safetensors files in fp32: each element may differ by
the given part of the largest of its tensor."""

import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "e2e"))
import safetensors  # noqa: E402


def main():
    actual, expected = map(safetensors.load, sys.argv[1:3])
    assert actual.keys() == expected.keys(), "other names"
    for name, value in expected.items():
        assert actual[name].shape == value.shape, f"{name}: other shape"
        assert actual[name].dtype == value.dtype == "float32", f"{name} is {actual[name].dtype}"
        error = abs(actual[name].astype("float64") - value).max()
        assert error <= float(sys.argv[3]) * abs(value).max(), f"{name}: {error}"


main()
