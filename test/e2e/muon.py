# SPDX-License-Identifier: Apache-2.0
"""Compares Muon with one written in PyTorch, and its layouts with each other.

usage: muon.py BIN_FOLDER WORK_FOLDER CASE
"""

import os
import sys

import numpy
import safetensors
import torch
import torch_llama
import training
from torch_cases import BATCH, MICRO_BATCHES, read_batches

STEPS = 5
LOSS_TOLERANCE, TOLERANCE = 2e-5, 1e-5
# Two units in the last place of fp32, as a gradient is off that is summed in another order.
NOISE = 2.0**-22
# Norms of parts are added in another order than those of wholes: no clipping where bits are compared.
HUGE = 1e9
RATE, DECAY, RMS, MOMENTUM = 1e-3, 0.1, 0.2, 0.9
CASES = {
    "plain": {"nesterov": "False"},
    "nesterov": {},
    "triples": {"ns_coefficients": "[[[3.5, -4.8, 2.0], 2], [[2.0, -1.5, 0.5], 3]]"},
}


# How products of bf16 matrices are added up. PyTorch's own are in fp32 on processors with AVX-512, and elsewhere round
# each sum to bf16.
PRODUCTS = {
    "own": lambda left, right: left @ right,
    "fp32": lambda left, right: (left.float() @ right.float()).bfloat16(),
    "fp64": lambda left, right: (left.double() @ right.double()).bfloat16(),
}


def orthogonalize(matrix, triples, product):
    """Newton-Schulz iterations in bf16, of the wide one of a matrix and its transpose."""
    multiply = PRODUCTS[product]
    x = matrix.bfloat16()
    if matrix.shape[0] > matrix.shape[1]:
        x = x.T
    x = x / (x.float().square().sum().sqrt().bfloat16() + 1e-8)
    # PyTorch itself rounds a number beside a tensor of bf16 to bf16.
    def times(tensor, number):
        return (tensor.float() * number).bfloat16()

    for (a, b, c), steps in triples:
        for _ in range(steps):
            square = multiply(x, x.T)
            x = times(x, a) + multiply(times(square, b) + times(multiply(square, square), c), x)
    return (x.T if matrix.shape[0] > matrix.shape[1] else x).float()


def compare_products(ours, run):
    """How far parameters are from the nearest of `run(product)`, and from how far on they are wrong: a sum in another
    order may round to the next number of bf16, so that correct references differ, too."""
    references = {product: run(product) for product in PRODUCTS}
    name, worst = min(
        (get_worst(ours, references[product]) for product in ("own", "fp32")), key=lambda found: found[1]
    )
    return name, worst, max(TOLERANCE, 4 * get_worst(references["fp32"], references["fp64"])[1])


def add_product(gradient, momentum, factor=MOMENTUM):
    """gradient + factor momentum, rounded once."""
    return (gradient.double() + numpy.float32(factor).astype(float) * momentum.double()).float()


class Muon:
    """Muon of all matrices but the embedding and the head."""

    def __init__(self, params, nesterov, triples, product):
        self.params, self.nesterov, self.triples, self.product = params, nesterov, triples, product
        self.momenta = {name: torch.zeros_like(p) for name, p in params.items()}

    @torch.no_grad()
    def step(self):
        for name, p in self.params.items():
            momentum = self.momenta[name]
            momentum.copy_(add_product(p.grad, momentum))
            direction = add_product(p.grad, momentum) if self.nesterov else momentum
            update = orthogonalize(direction, self.triples, self.product) * RMS * max(p.shape) ** 0.5
            p.mul_(1 - RATE * DECAY).sub_(RATE * update)


def is_matrix(name, p):
    return p.dim() == 2 and "embedding" not in name and "lm_head" not in name


class Optimizer:
    """Muon, and AdamW for what is no matrix, of a PyTorch model."""

    def __init__(self, values, nesterov, triples, product="fp32"):
        self.model = torch_llama.Llama(training.MODEL, values)
        self.params = self.model.unique_parameters()
        matrices = {name: p for name, p in self.params.items() if is_matrix(name, p)}
        rest = [p for name, p in self.params.items() if name not in matrices]
        groups = [
            {"params": [p for p in rest if p.dim() > 1], "weight_decay": DECAY},
            {"params": [p for p in rest if p.dim() <= 1], "weight_decay": 0.0},
        ]
        self.muon = Muon(matrices, nesterov, triples, product)
        self.adamw = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.99), eps=1e-8)

    def step(self):
        self.muon.step()
        self.adamw.step()

    def get_parameters(self):
        return {name: p.detach().numpy() for name, p in self.params.items()}


def run_alone(optimizer, data, noise=0.0):
    """The losses of PyTorch's own training, and the parameters behind it. Each element of a gradient is off by up to
    `noise` of itself."""
    losses = []
    generator = torch.Generator().manual_seed(1)
    for batches in read_batches(data, training.MODEL["seq_length"], STEPS):
        for p in optimizer.params.values():
            p.grad = None
        losses.append(torch_llama.accumulate(optimizer.model, batches))
        for p in optimizer.params.values():
            p.grad.mul_(1 + noise * (2 * torch.rand(p.shape, generator=generator) - 1))
        optimizer.step()
    return losses, optimizer.get_parameters()


def run_on_gradients(optimizer, folder):
    """The parameters behind steps with the gradients of `folder`. Newton-Schulz iterations make of a gradient that
    rounds to another number of bf16 another direction, so only the same gradients give the same parameters."""
    for number in range(1, STEPS + 1):
        gradients = safetensors.load(os.path.join(folder, "step_%06d.safetensors" % number))
        for name, p in optimizer.params.items():
            p.grad = torch.tensor(gradients[name])
        optimizer.step()
    return optimizer.get_parameters()


def get_worst(actual, expected):
    """The parameter that differs most, and by how much."""
    assert set(actual) == set(expected), set(actual) ^ set(expected)
    return max(((name, training.get_difference(actual[name], value)) for name, value in expected.items()), key=lambda found: found[1])


def get_optimizer(keys):
    return dict({"type": "Muon", "momentum": MOMENTUM, "adamw_betas": "[0.9, 0.99]"}, **keys)


class Runs:
    def __init__(self, tools, data):
        self.tools, self.data = tools, data

    def run(self, name, keys, batch_size=BATCH, **options):
        """The losses, the saved parameters and the file's bytes."""
        mlir, step = self.tools.lower(
            name, training.MODEL, micro_batches=MICRO_BATCHES, optimizer=get_optimizer(keys),
            batch_size=batch_size, max_grad_norm=HUGE, **options,
        )  # fmt: skip
        self.values = training.random_parameters(self.tools.parameters(mlir))
        weights = self.tools.path("weights.safetensors")
        safetensors.save(weights, self.values)
        path = self.tools.path(name + ".safetensors")
        self.gradients = self.tools.path(name + ".gradients")
        extra = ["--save-params", path, "--debug-memory", "--dump-gradients-every-step", self.gradients]
        losses = self.tools.train(step, self.data, STEPS, weights, extra=extra)["losses"]
        return losses, safetensors.load(path), open(path, "rb").read()


def compare_with_torch(runs, case):
    losses, ours, _ = runs.run("model", CASES[case])
    triples = [([3.4445, -4.7750, 2.0315], 5)]
    if case == "triples":
        triples = [([3.5, -4.8, 2.0], 2), ([2.0, -1.5, 0.5], 3)]

    def make(product="fp32"):
        return Optimizer(runs.values, case != "plain", triples, product)

    expected_losses, alone = run_alone(make(), runs.data)
    loss = max(abs(a - b) / b for a, b in zip(losses, expected_losses))
    _, worst, bound = compare_products(ours, lambda product: run_on_gradients(make(product), runs.gradients))
    # PyTorch's own parameters are off by so much if only the last digits of its gradients are others.
    own = get_worst(run_alone(make(), runs.data, NOISE)[1], alone)[1]
    free = get_worst(ours, alone)[1]
    print("loss %.1e, parameters %.1e of %.1e; without the same gradients %.1e, PyTorch from itself %.1e"
          % (loss, worst, bound, free, own))  # fmt: skip
    if loss > LOSS_TOLERANCE or worst > bound or free > 2 * max(own, bound):
        sys.exit("error: beyond the tolerance")


def compare_layouts(runs):
    shared = {
        "ranks": {"data_parallel": 2},
        "parallel": {"enable_parallel_optimizer": "True"},
        "optimizer_shard": {"parallel_optimizer_threshold": 0},
    }
    half = {"ranks": {"data_parallel": 2}, "batch_size": BATCH // 2}
    spread = {"comm_strategy": "allgather_deredundency"}
    groups = [
        [
            ("one", runs.run("one", {})),
            ("stages", runs.run("stages", {}, stages=2)),
            ("recomputed", runs.run("recomputed", {}, recompute={"recompute": "True"})),
        ],
        [
            ("copies", runs.run("copies", {}, **half)),
            ("shared out", runs.run("shared", {}, **dict(shared, batch_size=BATCH // 2))),
            ("spread", runs.run("spread", spread, **dict(shared, batch_size=BATCH // 2))),
            ("spread, stages", runs.run("both", spread, **dict(shared, batch_size=BATCH // 2, stages=2))),
        ],
        [
            ("cut", runs.run("cut", {}, ranks={"model_parallel": 2})),
            ("cut, recomputed", runs.run("cutagain", {}, ranks={"model_parallel": 2}, recompute={"recompute": "True"})),
            ("cut, spread", runs.run("cutspread", spread, ranks={"model_parallel": 2})),
        ],
    ]
    for group in groups:
        for name, run in group[1:]:
            assert run[2] == group[0][1][2], "'%s' and '%s' differ" % (name, group[0][0])


def main():
    tools = training.Tools(sys.argv[1], sys.argv[2])
    torch.set_num_threads(1)
    data = tools.path("text.txt")
    training.start_drawing(data, 1)
    runs = Runs(tools, data)
    if sys.argv[3] == "layouts":
        compare_layouts(runs)
    else:
        compare_with_torch(runs, sys.argv[3].split("-")[0])


if __name__ == "__main__":
    main()
