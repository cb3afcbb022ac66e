# SPDX-License-Identifier: Apache-2.0
"""Compares PmaAdamW with PyTorch's AdamW and averages after its definition.

usage: weight_averages.py BIN_FOLDER WORK_FOLDER CASE
"""

import os
import sys

import numpy
import safetensors
import torch
import torch_llama
import training
from torch_cases import BATCH, MICRO_BATCHES, read_batches

STEPS, SAVED_STEP = 7, 5
INTERVAL, FUSED, ALPHA = 2, 2, 0.2
# Rounding alone: applied means make parameters small, and gradients then have few digits.
LOSS_TOLERANCE, TOLERANCE = 1e-5, 1e-4
SHARED = {
    "stages": 2,
    "ranks": {"data_parallel": 2},
    "parallel": {"enable_parallel_optimizer": "True"},
    "optimizer_shard": {"parallel_optimizer_threshold": 0},
    "batch_size": BATCH // 2,
}


class Averages:
    """What PmaAdamW keeps beside AdamW's moments."""

    def __init__(self, parameters, sums):
        self.parameters, self.sums = parameters, sums
        self.kept = {name: torch.zeros_like(p) for name, p in parameters.items()}

    @torch.no_grad()
    def follow(self, step):
        if step % INTERVAL != 0:
            return
        for name, p in self.parameters.items():
            kept = self.kept[name]
            kept.copy_(kept + p if self.sums else (1 - ALPHA) * kept + ALPHA * p)
            if step % (INTERVAL * FUSED) == 0:
                p.copy_(kept / FUSED if self.sums else kept)
                kept.zero_()


def run_torch(values, data, sums):
    """The losses; the parameters and averages behind the last step."""
    model = torch_llama.Llama(training.MODEL, values)
    params = model.unique_parameters()
    optimizer = torch_llama.make_optimizer(model, 1e-3)
    averages, losses = Averages(params, sums), []
    for step, batches in enumerate(read_batches(data, training.MODEL["seq_length"], STEPS), 1):
        optimizer.zero_grad()
        losses.append(torch_llama.accumulate(model, batches))
        torch_llama.clip(list(params.values()), 1.0)
        optimizer.step()
        averages.follow(step)
    return losses, {name: p.detach().numpy() for name, p in params.items()}, averages.kept


def get_difference(actual, expected):
    expected = expected.astype(numpy.float64)
    return numpy.linalg.norm(actual - expected) / max(numpy.linalg.norm(expected), 1e-9)


def main():
    algorithm, layout = sys.argv[3].split("-", 1)
    tools = training.Tools(sys.argv[1], sys.argv[2])
    torch.set_num_threads(1)
    data = tools.path("text.txt")
    training.start_drawing(data, 1)
    optimizer = {
        "type": "PmaAdamW", "fused_num": FUSED, "interleave_step": INTERVAL,
        "fused_algo": algorithm, "ema_alpha": ALPHA,
    }  # fmt: skip
    options = dict({"batch_size": BATCH}, **(SHARED if layout == "ranks" else {}))
    mlir, step = tools.lower(
        "model", training.MODEL, micro_batches=MICRO_BATCHES, optimizer=optimizer, **options
    )
    values = training.random_parameters(tools.parameters(mlir))
    weights = tools.path("weights.safetensors")
    safetensors.save(weights, values)
    folder = tools.path("checkpoints")

    def train(steps, name, *extra):
        path = tools.path(name)
        extra = ["--save-params", path, "--debug-memory", *extra]
        return tools.train(step, data, steps, weights, extra=extra)["losses"], path

    losses, path = train(STEPS, "whole.safetensors", "--checkpoint-dir", folder)
    ours = safetensors.load(path)
    expected_losses, expected, kept = run_torch(values, data, algorithm == "sma")
    loss = max(abs(a - b) / b for a, b in zip(losses, expected_losses))
    worst = max(get_difference(ours[name], value) for name, value in expected.items())
    assert set(ours) == set(expected), set(ours) ^ set(expected)

    # The last checkpoint has the averages of the steps since the last that was applied.
    parts = [
        safetensors.load(os.path.join(folder, "step_%06d" % STEPS, file))
        for file in sorted(os.listdir(os.path.join(folder, "step_%06d" % STEPS)))
        if file.endswith(".safetensors")
    ]
    names = {name for part in parts for name in part if name.startswith("pma_weight.")}
    assert names == {"pma_weight." + name for name in expected}, names
    if layout == "1-rank":
        averages = {name[len("pma_weight.") :]: parts[0][name] for name in names}
        worst = max(worst, *(get_difference(averages[n], v.numpy()) for n, v in kept.items()))

    train(SAVED_STEP, "half.safetensors", "--checkpoint-dir", folder + ".half")
    _, resumed = train(STEPS, "resumed.safetensors", "--checkpoint-dir", folder + ".half", "--resume")
    same = open(path, "rb").read() == open(resumed, "rb").read()
    print("loss %.1e, parameters %.1e, resumed with the same bits: %s" % (loss, worst, same))
    if loss > LOSS_TOLERANCE or worst > TOLERANCE or not same:
        sys.exit("error: beyond the tolerance")


if __name__ == "__main__":
    main()
