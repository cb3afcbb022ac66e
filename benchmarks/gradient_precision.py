# SPDX-License-Identifier: Apache-2.0
"""Compares gradients of models with LayerNorm, in fp32, with those of PyTorch in fp64 and in fp32.

usage: gradient_precision.py BIN_FOLDER

The models are those of test/e2e/dropout_masks.py with LayerNorm: small ones with dropout, whose masks PyTorch gets. For the first
step, each cell has the largest error of a parameter's gradient, relative to its norm, and behind it the error of all
gradients as one vector. Where both columns that compare with fp64 have errors of one size, neither order of sums is better.
"""

import os
import sys
import tempfile

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "test", "e2e"))

import dropout_masks
import torch
import training

ROW = "%-11s %18s %18s %18s   %s"


def get_errors(actual, expected):
    """Errors of the worst gradient and of all gradients as one vector, relative to norms, and the name of the worst gradient."""
    # Without rotary positions the bias of keys has no gradient: what rounding leaves counts relative to that of the weight.
    norms = {name: numpy.linalg.norm(expected[name.replace("dense2.bias", "dense2.weight")]) for name in expected}
    errors = {name: numpy.linalg.norm(actual[name].astype(numpy.float64) - expected[name]) for name in expected}
    worst = max(expected, key=lambda name: errors[name] / norms[name])
    length = numpy.linalg.norm([numpy.linalg.norm(value) for value in expected.values()])
    return errors[worst] / norms[worst], numpy.linalg.norm(list(errors.values())) / length, worst


def main():
    torch.set_num_threads(1)
    print(ROW % ("model", "mf, fp64", "PyTorch fp32, fp64", "mf, PyTorch fp32", "the worst of mf"))
    with tempfile.TemporaryDirectory() as work:
        tools = training.Tools(sys.argv[1], work)
        for kind in ("gpt2", "gpt2-flash", "glm", "spark"):
            checker = dropout_masks.Checker(kind, tools)
            ours = checker.one[1][0]
            exact, rounded = (
                {name: value.astype(numpy.float64) for name, value in next(checker.run_torch(precision))[1].items()}
                for precision in (torch.float64, torch.float32)
            )
            pairs = get_errors(ours, exact), get_errors(rounded, exact), get_errors(ours, rounded)
            print(ROW % (kind, *("%.1e  %.1e" % pair[:2] for pair in pairs), pairs[0][2]), flush=True)


if __name__ == "__main__":
    main()
