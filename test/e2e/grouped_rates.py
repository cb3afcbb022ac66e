# SPDX-License-Identifier: Apache-2.0
"""Compares grouped_lr_schedule with PyTorch's AdamW of a parameter group for each rate.

usage: grouped_rates.py BIN_FOLDER WORK_FOLDER LAYOUT

The norms' rate is constant, the attention's rises for two steps and then falls, and that of all other parameters falls
from the start. A second run, with recompute and swap, has the same bits.
"""

import sys

import safetensors
import torch
import torch_llama
import training
from torch_cases import BATCH, MICRO_BATCHES, read_batches
from weight_averages import SHARED, get_difference

STEPS = 5
TOLERANCE = 2e-5
RATES = """{default: {type: LinearWithWarmUpLR, learning_rate: 1.e-3, warmup_steps: 0},
  grouped: [{params: ['norm'], type: ConstantWarmUpLR, learning_rate: 5.e-3, warmup_steps: 0},
    {params: ['model.layers.*.w[qk]*', 'wv.weight'], type: LinearWithWarmUpLR, learning_rate: 2.e-3, warmup_steps: 2}]}"""


def get_rates(step):
    """The rates of all others, the norms and the attention in a step that counts from 0."""
    rising = 2e-3 * (step / 2 if step < 2 else (STEPS - step) / (STEPS - 2))
    return [1e-3 * (STEPS - step) / STEPS, 5e-3, rising]


def get_group(name):
    if "norm" in name:
        return 1
    return 2 if any(part in name for part in (".wq.", ".wk.", ".wv.")) else 0


def run_torch(values, data):
    """The losses, and the parameters behind the last step."""
    model = torch_llama.Llama(training.MODEL, values)
    params = model.unique_parameters()
    groups = [
        {"params": [p], "weight_decay": 0.1 if p.dim() > 1 else 0, "group": get_group(name)}
        for name, p in params.items()
    ]
    optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.95), eps=1e-8)
    losses = []
    for step, batches in enumerate(read_batches(data, training.MODEL["seq_length"], STEPS)):
        optimizer.zero_grad()
        losses.append(torch_llama.accumulate(model, batches))
        torch_llama.clip(list(params.values()), 1.0)
        for group in optimizer.param_groups:
            group["lr"] = get_rates(step)[group["group"]]
        optimizer.step()
    return losses, {name: p.detach().numpy() for name, p in params.items()}


def main():
    tools = training.Tools(sys.argv[1], sys.argv[2])
    torch.set_num_threads(1)
    data = tools.path("text.txt")
    training.start_drawing(data, 1)
    options = dict({"batch_size": BATCH}, **(SHARED if sys.argv[3] == "ranks" else {}))
    options.update(micro_batches=MICRO_BATCHES, top={"grouped_lr_schedule": RATES})
    mlir, step = tools.lower("model", training.MODEL, **options)
    values = training.random_parameters(tools.parameters(mlir))
    weights = tools.path("weights.safetensors")
    safetensors.save(weights, values)

    def train(step, name):
        path = tools.path(name)
        extra = ["--save-params", path, "--debug-memory"]
        return tools.train(step, data, STEPS, weights, extra=extra)["losses"], path

    losses, path = train(step, "whole.safetensors")
    ours = safetensors.load(path)
    expected_losses, expected = run_torch(values, data)
    loss = max(abs(a - b) / b for a, b in zip(losses, expected_losses))
    worst = max(get_difference(ours[name], value) for name, value in expected.items())
    assert set(ours) == set(expected), set(ours) ^ set(expected)

    _, saving = tools.lower(
        "saving", training.MODEL, recompute={"recompute": "True"},
        swap={"layer_swap": "[{backward_prefetch: 1, layers: True}]"}, **options,
    )  # fmt: skip
    saved = open(path, "rb").read() == open(train(saving, "saving.safetensors")[1], "rb").read()
    print("loss %.1e, parameters %.1e, same bits with recompute and swap: %s" % (loss, worst, saved))
    if loss > TOLERANCE or worst > TOLERANCE or not saved:
        sys.exit("error: beyond the tolerance")


if __name__ == "__main__":
    main()
