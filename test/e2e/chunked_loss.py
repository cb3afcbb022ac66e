# SPDX-License-Identifier: Apache-2.0
"""Compares steps with the loss by pieces of the sequence with whole ones and with PyTorch.

usage: chunked_loss.py BIN_FOLDER WORK_FOLDER CASE
"""

import sys

import safetensors
import torch
import torch_llama
import training
from torch_cases import MICRO_BATCHES, read_batches

STEPS, LENGTH = 3, 30
MODEL = dict(training.MODEL, seq_length=LENGTH, compute_dtype='"bfloat16"')
LARGE = dict(MODEL, seq_length=128, vocab_size=4096, num_layers=2)


def run(tools, name, model, chunks, steps=STEPS, batch_size=2, **options):
    """The report and the parameters behind the last step."""
    data = tools.path("text.txt")
    training.start_drawing(data, 1)
    mlir, step = tools.lower(
        name, model, micro_batches=MICRO_BATCHES, batch_size=batch_size,
        lowering=["--loss-chunks=%d" % chunks], **options,
    )  # fmt: skip
    weights = tools.path("weights.safetensors")
    safetensors.save(weights, training.random_parameters(tools.parameters(mlir)))
    path = tools.path(name + ".safetensors")
    report = tools.train(step, data, steps, weights, extra=["--save-params", path, "--debug-memory"])
    return report, safetensors.load(path)


def compare(ours, expected, tolerance):
    report, parameters = ours
    other_report, others = expected
    loss = max(abs(a - b) / b for a, b in zip(report["losses"], other_report["losses"]))
    worst = max(training.get_difference(parameters[name], value) for name, value in others.items())
    print("loss %.1e, parameters %.1e" % (loss, worst))
    if loss > tolerance or worst > tolerance:
        sys.exit("error: beyond the tolerance")


def run_torch(values, data):
    model = torch_llama.Llama(FLOATS, values)
    params = model.unique_parameters()
    optimizer = torch_llama.make_optimizer(model, 1e-3)
    losses = []
    for batches in read_batches(data, LENGTH, STEPS):
        optimizer.zero_grad()
        losses.append(torch_llama.accumulate(model, batches))
        torch_llama.clip(list(params.values()), 1.0)
        optimizer.step()
    return {"losses": losses}, {name: p.detach().numpy() for name, p in params.items()}


FLOATS = dict(training.MODEL, seq_length=LENGTH)


def main():
    tools, case = training.Tools(sys.argv[1], sys.argv[2]), sys.argv[3]
    torch.set_num_threads(1)
    if case == "torch":
        ours = run(tools, "pieces", FLOATS, 4)
        values = safetensors.load(tools.path("weights.safetensors"))
        compare(ours, run_torch(values, tools.path("text.txt")), 1e-5)
    elif case == "pieces":
        # Each token's gradient is the same: only the loss is rounded in another order.
        whole = run(tools, "whole", MODEL, 0)
        for chunks in (4, 7, 100):
            compare(run(tools, "pieces", MODEL, chunks), whole, 1e-6)
        stages = {"stages": 2, "recompute": {"recompute": "True"}}
        compare(run(tools, "stages", MODEL, 4, **stages), whole, 1e-6)
        ranks = {"batch_size": 1, "ranks": {"data_parallel": 2, "model_parallel": 2}}
        compare(run(tools, "ranks", MODEL, 4, **ranks), run(tools, "wholeranks", MODEL, 0, **ranks), 1e-6)
    else:
        before, after = (
            run(tools, name, LARGE, chunks, steps=1, stages=2)[0]["ranks"][1]
            for name, chunks in (("whole", 0), ("pieces", 8))
        )
        logits = 2 * 128 * 4096 * 4
        for key in ("planned_bytes", "peak_bytes"):
            print("%s: %d, in pieces %d" % (key, before[key], after[key]))
            # The other values at the two peaks differ a little.
            if after[key] > before[key] - 0.95 * logits:
                sys.exit("error: the last stage is not smaller by %d bytes" % logits)


if __name__ == "__main__":
    main()
