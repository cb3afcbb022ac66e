# SPDX-License-Identifier: Apache-2.0
"""Compares Came with one written in PyTorch, and its layouts with each other.

usage: came.py BIN_FOLDER WORK_FOLDER CASE[,CASE...]
"""

import os
import sys

import numpy
import safetensors
import torch
import torch_llama
import training
from torch_cases import BATCH, MICRO_BATCHES, read_batches

STEPS, SAVED_STEP = 5, 3
LOSS_TOLERANCE, TOLERANCE = 1e-5, 1e-5
RATE, DECAY, BETA1, BETA3, DECAY_RATE = 1e-3, 0.1, 0.9, 0.99, 0.8
KEYS = {"type": "Came", "betas": None, "eps": None}
SHARED = {
    "parallel": {"enable_parallel_optimizer": "True"},
    "optimizer_shard": {"parallel_optimizer_threshold": 0},
}
HALF = {"ranks": {"data_parallel": 2}, "batch_size": BATCH // 2}
LAYOUTS = {
    "one": {},
    "stages": {"stages": 2},
    "copies": HALF,
    "shared": dict(HALF, **SHARED),
    "cut": dict(SHARED, ranks={"data_parallel": 2, "model_parallel": 2}, batch_size=BATCH // 2, stages=2),
}


class Came:
    """As Luo et al., 2023, define it, with what MindSpore Transformers has of its own: beta2 grows, vectors have
    neither factors nor a confidence, everything decays, and states have the type of the parameter."""

    def __init__(self, params, clip_threshold=1.0):
        self.params, self.clip_threshold, self.number = params, clip_threshold, 0
        self.states = {name: {} for name in params}

    def average(self, name, state, value, beta):
        kept = self.states[name].get(state)
        if kept is None:
            kept = torch.zeros(value.shape, dtype=self.params[name].dtype)
        self.states[name][state] = (kept.float() * beta + value * (1 - beta)).to(kept.dtype)
        return self.states[name][state].float()

    def divide(self, name, what, value, squares, beta):
        rows = self.average(name, what + "_rows", squares.mean(-1), beta)
        columns = self.average(name, what + "_columns", squares.mean(-2), beta)
        moment = (rows / rows.mean(-1, keepdim=True)).unsqueeze(-1) * columns.unsqueeze(-2)
        return value * moment.rsqrt()

    @torch.no_grad()
    def step(self):
        self.number += 1
        beta2 = 1 - self.number**-DECAY_RATE
        for name, p in self.params.items():
            gradient = p.grad.float()
            squares = gradient.square() + 1e-30
            if p.dim() > 1:
                update = self.divide(name, "square", gradient, squares, beta2)
            else:
                update = gradient * self.average(name, "second_moment", squares, beta2).rsqrt()
            update = update / max(1.0, update.square().mean().sqrt().item() / self.clip_threshold)
            moment = self.average(name, "first_moment", update, BETA1)
            if p.dim() > 1:
                instability = (update - moment).square() + 1e-16
                moment = self.divide(name, "instability", moment, instability, BETA3)
            p.copy_(p.float() * (1 - RATE * DECAY) - RATE * moment)


class Runs:
    def __init__(self, tools, data):
        self.tools, self.data = tools, data

    def lower(self, name, model=training.MODEL, keys=KEYS, **options):
        options = dict({"batch_size": BATCH}, **options)
        self.mlir, step = self.tools.lower(name, model, micro_batches=MICRO_BATCHES, optimizer=keys, **options)
        self.values = training.random_parameters(self.tools.parameters(self.mlir))
        self.weights = self.tools.path("weights.safetensors")
        safetensors.save(self.weights, self.values)
        return step

    def train(self, step, name, steps=STEPS, extra=()):
        """The losses and the file of parameters."""
        path = self.tools.path(name + ".safetensors")
        extra = ["--save-params", path, "--debug-memory", *extra]
        return self.tools.train(step, self.data, steps, self.weights, extra=extra)["losses"], path


def run_torch(runs, **options):
    """The losses and parameters of PyTorch's own training."""
    model = torch_llama.Llama(training.MODEL, runs.values)
    params = model.unique_parameters()
    came, losses = Came(params, **options), []
    for batches in read_batches(runs.data, training.MODEL["seq_length"], STEPS):
        for p in params.values():
            p.grad = None
        losses.append(torch_llama.accumulate(model, batches))
        torch_llama.clip(list(params.values()), 1.0)
        came.step()
    return losses, {name: p.detach().numpy() for name, p in params.items()}


def check(losses, expected_losses, ours, expected, tolerance):
    assert set(ours) == set(expected), set(ours) ^ set(expected)
    loss = max(abs(a - b) / b for a, b in zip(losses, expected_losses))
    worst = max(training.get_difference(ours[name], value) for name, value in expected.items())
    print("loss %.1e, parameters %.1e" % (loss, worst))
    if loss > LOSS_TOLERANCE or worst > tolerance:
        sys.exit("error: beyond the tolerance")


def compare_with_torch(runs, layout):
    step = runs.lower("model", **LAYOUTS[layout])
    folder = runs.tools.path("checkpoints")
    losses, path = runs.train(step, "whole")
    expected_losses, expected = run_torch(runs)
    check(losses, expected_losses, safetensors.load(path), expected, TOLERANCE)
    runs.train(step, "half", SAVED_STEP, ["--checkpoint-dir", folder])
    _, resumed = runs.train(step, "resumed", extra=["--checkpoint-dir", folder, "--resume"])
    assert open(path, "rb").read() == open(resumed, "rb").read(), "resumed with other bits"


def compare_threshold(runs):
    """Updates are scaled to a smaller norm."""
    step = runs.lower("model", keys=dict(KEYS, clip_threshold=0.25))
    losses, path = runs.train(step, "whole")
    expected_losses, expected = run_torch(runs, clip_threshold=0.25)
    check(losses, expected_losses, safetensors.load(path), expected, TOLERANCE)
    assert training.get_difference(safetensors.load(path)["lm_head.weight"], runs.values["lm_head.weight"]) > 1e-4


def compare_types(runs):
    """Matrices and their states in bf16, given the same gradients."""
    model = dict(training.MODEL, param_init_type='"bfloat16"')
    step = runs.lower("model", model)
    folder = runs.tools.path("gradients")
    _, path = runs.train(step, "whole", extra=["--dump-gradients-every-step", folder])
    params = {name: torch.tensor(value) for name, value in runs.values.items()}
    params = {name: p.bfloat16() if p.dim() > 1 else p for name, p in params.items()}
    came = Came(params)
    for number in range(1, STEPS + 1):
        gradients = safetensors.load(os.path.join(folder, "step_%06d.safetensors" % number))
        norm = sum(float(numpy.square(g, dtype=numpy.float64).sum()) for g in gradients.values()) ** 0.5
        factor = min(1.0, 1.0 / (max(norm, 1.0) + 1e-6))
        for name, p in params.items():
            # PyTorch itself would round the factor to bf16.
            p.grad = (torch.tensor(gradients[name]) * factor).to(p.dtype)
        came.step()
    expected = {name: p.float().numpy() for name, p in params.items()}
    # A state or an element at the middle of two numbers of bf16 may go either way.
    check([1.0], [1.0], safetensors.load(path), expected, 2e-4)


def compare_bits(runs):
    """What changes no gradient changes no bit of the update."""
    cases = {"one": {}, "stages": {"stages": 2}, "recomputed": {"recompute": {"recompute": "True"}}}
    files = {name: open(runs.train(runs.lower(name, **c), name)[1], "rb").read() for name, c in cases.items()}
    for name, file in files.items():
        assert file == files["one"], "'%s' has other bits than one stage" % name


def run_case(programs, folder, case):
    os.makedirs(folder)
    tools = training.Tools(programs, folder)
    data = tools.path("text.txt")
    training.start_drawing(data, 1)
    runs = Runs(tools, data)
    others = {"threshold": compare_threshold, "types": compare_types, "bits": compare_bits}
    if case in others:
        others[case](runs)
    else:
        compare_with_torch(runs, case)


def main():
    torch.set_num_threads(1)
    for case in sys.argv[3].split(","):
        run_case(sys.argv[1], os.path.join(sys.argv[2], case), case)


if __name__ == "__main__":
    main()
