# SPDX-License-Identifier: Apache-2.0
"""Compares steps with the loss by pieces of the sequence with whole ones and with PyTorch.

usage: chunked_loss.py BIN_FOLDER WORK_FOLDER CASE
"""

import sys

import safetensors
import torch
import torch_cases
import training

STEPS, LENGTH = 3, 30
MODEL = dict(training.MODEL, seq_length=LENGTH, compute_dtype='"bfloat16"')
FLOATS = dict(training.MODEL, seq_length=LENGTH)
LARGE = dict(MODEL, seq_length=128, vocab_size=4096, num_layers=2)


def run(runs, name, model, chunks, steps=STEPS, **options):
    """The report and the parameters behind the last step."""
    step = runs.lower(name, model, lowering=["--loss-chunks=%d" % chunks], **options)
    path = runs.tools.path(name + ".safetensors")
    extra = ["--save-params", path, "--debug-memory"]
    return runs.tools.train(step, runs.data, steps, runs.weights, extra=extra), safetensors.load(path)


def compare(ours, expected, tolerance):
    torch_cases.compare_results((ours[0]["losses"], ours[1]), (expected[0]["losses"], expected[1]), tolerance, tolerance)


def compare_torch(runs):
    ours = run(runs, "pieces", FLOATS, 4)
    model = runs.make_model(FLOATS)
    adamw = torch_cases.make_optimizer(model)
    losses, expected = runs.train_torch(model, STEPS, lambda step: adamw.step())
    compare(ours, ({"losses": losses}, expected), 1e-5)


def compare_pieces(runs):
    """Each token's gradient is the same: only the loss is rounded in another order."""
    whole = run(runs, "whole", MODEL, 0)
    for chunks in (4, 7, 100):
        compare(run(runs, "pieces", MODEL, chunks), whole, 1e-6)
    stages = {"stages": 2, "recompute": {"recompute": "True"}}
    compare(run(runs, "stages", MODEL, 4, **stages), whole, 1e-6)
    ranks = {"batch_size": 1, "ranks": {"data_parallel": 2, "model_parallel": 2}}
    compare(run(runs, "ranks", MODEL, 4, **ranks), run(runs, "wholeranks", MODEL, 0, **ranks), 1e-6)


def compare_memory(runs):
    before, after = (
        run(runs, name, LARGE, chunks, steps=1, stages=2)[0]["ranks"][1] for name, chunks in (("whole", 0), ("pieces", 8))
    )
    logits = 2 * 128 * 4096 * 4
    for key in ("planned_bytes", "peak_bytes"):
        print("%s: %d, in pieces %d" % (key, before[key], after[key]))
        # The other values at the two peaks differ a little.
        if after[key] > before[key] - 0.95 * logits:
            sys.exit("error: the last stage is not smaller by %d bytes" % logits)


def main():
    torch.set_num_threads(1)
    cases = {"torch": compare_torch, "pieces": compare_pieces, "memory": compare_memory}
    cases[sys.argv[3]](torch_cases.Runs(training.Tools(sys.argv[1], sys.argv[2])))


if __name__ == "__main__":
    main()
