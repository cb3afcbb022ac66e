# SPDX-License-Identifier: Apache-2.0
"""Compares Muon with one written in PyTorch, and its layouts with each other.

usage: muon.py BIN_FOLDER WORK_FOLDER CASE

The model is a Llama; in the case `matrices` it is a DeepSeek-V3 of the dynamic graph, whose weights hold several matrices: which
of their rows and columns belong together is written here by the names of the weights.
"""

import os
import sys

import numpy
import safetensors
import torch
import torch_cases
import training
from dynamic_configurations import DEEPSEEK, SEQUENCE_LENGTH, VOCABULARY, Configuration
from torch_cases import BATCH, have_same_bytes

STEPS = 5
LOSS_TOLERANCE, TOLERANCE = 2e-5, 1e-5
# Two units in the last place of fp32, as a gradient is off that is summed in another order.
NOISE = 2.0**-22
# Norms of parts are added in another order than those of wholes: no clipping where bits are compared.
HUGE = 1e9
RATE, DECAY, RMS = 1e-3, 0.1, 0.2
TRIPLES = [([3.4445, -4.7750, 2.0315], 5)]
# Keys of the optimizer, and what the reference has for them.
CASES = {
    "plain": ({"nesterov": "False"}, {"nesterov": False}),
    "nesterov": ({}, {}),
    "triples": (
        {"ns_coefficients": "[[[3.5, -4.8, 2.0], 2], [[2.0, -1.5, 0.5], 3]]"},
        {"triples": [([3.5, -4.8, 2.0], 2), ([2.0, -1.5, 0.5], 3)]},
    ),
}
# PyTorch adds up products of matrices that are smaller than these otherwise.
PLAIN, ROTARY, VALUE, QUERY, LATENT = 48, 32, 40, 40, 56
LATENT_SIZES = dict(
    DEEPSEEK, qk_nope_head_dim=PLAIN, qk_rope_head_dim=ROTARY, v_head_dim=VALUE, q_lora_rank=QUERY,
    kv_lora_rank=LATENT, num_nextn_predict_layers=0,
)  # fmt: skip
# All that is not of rank one decays, but for these.
EXCLUDED = "*linear_proj*"

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


def add_product(gradient, momentum, factor):
    """gradient + factor momentum, rounded once."""
    return (gradient.double() + numpy.float32(factor).astype(float) * momentum.double()).float()


def in_turns(first, second):
    """A function that divides n rows into those of the first part of each period and those of the second part."""

    def choose(n):
        places = numpy.arange(n) % (first + second)
        return [numpy.flatnonzero(places < first), numpy.flatnonzero(places >= first)]

    return choose


ROWS = {
    "linear_qkv": lambda n: numpy.split(numpy.arange(n), numpy.cumsum([QUERY, LATENT, ROTARY])[:-1]),
    "linear_qb": in_turns(PLAIN, ROTARY),
    "linear_kvb": in_turns(PLAIN, VALUE),
    "linear_fc1": in_turns(1, 1),
}


def list_matrices(name, tensor):
    """The indices of the matrices of a weight."""
    if name.endswith("experts.weight1"):
        halves = numpy.split(numpy.arange(tensor.shape[2]), 2)
        return [(expert, slice(None), torch.from_numpy(half)) for expert in range(len(tensor)) for half in halves]
    if tensor.dim() == 3:
        return list(range(len(tensor)))
    choose = next((rows for part, rows in ROWS.items() if part + "." in name), lambda n: [numpy.arange(n)])
    return [torch.from_numpy(rows) for rows in choose(tensor.shape[0])]


class Reference:
    """Muon for matrices, AdamW for embedding, head and vectors, of parameters in fp32 by name."""

    def __init__(self, values, product="fp32", betas=(0.95, 0.95), momentum=0.95, nesterov=True, triples=TRIPLES):
        self.product, self.betas, self.momentum, self.nesterov, self.triples = product, betas, momentum, nesterov, triples
        self.values = {name: torch.tensor(value) for name, value in values.items()}
        self.moments = {name: (torch.zeros_like(v), torch.zeros_like(v)) for name, v in self.values.items()}

    def step(self, number, gradients):
        for name, value in self.values.items():
            gradient = torch.tensor(numpy.asarray(gradients[name]))
            value.mul_(1 - RATE * (DECAY if value.dim() > 1 and EXCLUDED.strip("*") not in name else 0.0))
            is_adamw = value.dim() == 1 or any(part in name for part in ("embedding", "output_layer", "lm_head"))
            value.sub_((self.get_adamw_update if is_adamw else self.get_update)(name, gradient, number))

    def get_adamw_update(self, name, gradient, number):
        first, second = self.moments[name]
        first.mul_(self.betas[0]).add_(gradient, alpha=1 - self.betas[0])
        second.mul_(self.betas[1]).addcmul_(gradient, gradient, value=1 - self.betas[1])
        corrected = (second / (1 - self.betas[1] ** number)).sqrt() + 1e-8
        return RATE / (1 - self.betas[0] ** number) * first / corrected

    def get_update(self, name, gradient, number):
        momentum = self.moments[name][0]
        momentum.copy_(add_product(gradient, momentum, self.momentum))
        direction = add_product(gradient, momentum, self.momentum) if self.nesterov else momentum
        update = torch.empty_like(direction)
        for place in list_matrices(name, direction):
            matrix = direction[place]
            update[place] = orthogonalize(matrix, self.triples, self.product) * RMS * max(matrix.shape) ** 0.5
        return RATE * update

    def get_parameters(self):
        return {name: value.numpy() for name, value in self.values.items()}


def read_gradients(folder, number):
    return safetensors.load(os.path.join(folder, "step_%06d.safetensors" % number))


def run_on_gradients(reference, folder):
    """The parameters behind steps with the gradients of `folder`. Newton-Schulz iterations make of a gradient that
    rounds to another number of bf16 another direction, so only the same gradients give the same parameters."""
    for number in range(1, STEPS + 1):
        reference.step(number, read_gradients(folder, number))
    return reference.get_parameters()


def get_worst(actual, expected):
    """The parameter that differs most, and by how much."""
    assert set(actual) == set(expected), set(actual) ^ set(expected)
    return max(((name, training.get_difference(actual[name], value)) for name, value in expected.items()), key=lambda found: found[1])


def compare_products(ours, run):
    """How far parameters are from the nearest of `run(product)`, and from how far on they are wrong: a sum in another
    order may round to the next number of bf16, so that correct references differ, too."""
    references = {product: run(product) for product in PRODUCTS}
    name, worst = min(
        (get_worst(ours, references[product]) for product in ("own", "fp32")), key=lambda found: found[1]
    )
    return name, worst, max(TOLERANCE, 4 * get_worst(references["fp32"], references["fp64"])[1])


class Runs(torch_cases.Runs):
    def run(self, name, keys=(), **options):
        """The losses and the file of parameters."""
        optimizer = dict({"type": "Muon", "momentum": 0.9, "adamw_betas": "[0.9, 0.99]"}, **dict(keys))
        step = self.lower(name, optimizer=optimizer, max_grad_norm=HUGE, **options)
        self.gradients = self.tools.path(name + ".gradients")
        return self.train(step, name, STEPS, "--dump-gradients-every-step", self.gradients)

    def run_alone(self, reference, noise=0.0):
        """The losses of PyTorch's own training, and the parameters behind it. Each element of a gradient is off by up to
        `noise` of itself."""
        model, generator = self.make_model(), torch.Generator().manual_seed(1)
        params = model.unique_parameters()
        reference.values = {name: p.data for name, p in params.items()}

        def update(number):
            factors = {name: 1 + noise * (2 * torch.rand(p.shape, generator=generator) - 1) for name, p in params.items()}
            reference.step(number, {name: p.grad * factors[name] for name, p in params.items()})

        return self.train_torch(model, STEPS, update, max_norm=None)


def compare_with_torch(runs, case):
    keys, settings = CASES[case]
    losses, path = runs.run("model", keys)
    ours = safetensors.load(path)

    def make(product="fp32"):
        return Reference(runs.values, product, (0.9, 0.99), 0.9, **settings)

    expected_losses, alone = runs.run_alone(make())
    loss = max(abs(a - b) / b for a, b in zip(losses, expected_losses))
    _, worst, bound = compare_products(ours, lambda product: run_on_gradients(make(product), runs.gradients))
    # PyTorch's own parameters are off by so much if only the last digits of its gradients are others.
    own = get_worst(runs.run_alone(make(), NOISE)[1], alone)[1]
    free = get_worst(ours, alone)[1]
    print("loss %.1e, parameters %.1e of %.1e; without the same gradients %.1e, PyTorch from itself %.1e"
          % (loss, worst, bound, free, own))  # fmt: skip
    if loss > LOSS_TOLERANCE or worst > bound or free > 2 * max(own, bound):
        sys.exit("error: beyond the tolerance")


def compare_layouts(runs):
    half = {"ranks": {"data_parallel": 2}, "batch_size": BATCH // 2}
    shared = dict(half, parallel={"enable_parallel_optimizer": "True"}, optimizer_shard={"parallel_optimizer_threshold": 0})
    cut, recompute = {"ranks": {"model_parallel": 2}}, {"recompute": {"recompute": "True"}}
    spread = {"comm_strategy": "allgather_deredundency"}
    # Keys of the optimizer, and a layout.
    groups = [
        {"one": ({}, {}), "stages": ({}, {"stages": 2}), "recomputed": ({}, recompute)},
        {
            "copies": ({}, half), "shared-out": ({}, shared), "spread": (spread, shared),
            "spread-stages": (spread, dict(shared, stages=2)),
        },
        {"cut": ({}, cut), "cut-recomputed": ({}, dict(cut, **recompute)), "cut-spread": (spread, cut)},
    ]  # fmt: skip
    for group in groups:
        paths = {name: runs.run(name, keys, **layout)[1] for name, (keys, layout) in group.items()}
        first = next(iter(paths))
        for name, path in paths.items():
            assert have_same_bytes(path, paths[first]), "'%s' and '%s' differ" % (name, first)


def compare_matrices(runs):
    """Weights that hold several matrices, given the same gradients."""
    tools, folder = runs.tools, runs.tools.path("gradients")
    optimizer = {
        "type": "Muon", "adamw_betas": "[0.95, 0.95]", "qk_clip_enabled": "False",
        "weight_decay_exclude": "['%s']" % EXCLUDED,
    }  # fmt: skip
    # Norms are not near the limit of clipping.
    configuration = Configuration(
        dict(LATENT_SIZES, n_routed_experts=32), {}, {}, (1, 2), optimizer=optimizer, training={"max_norm": HUGE}
    )
    mlir, step = configuration.lower(tools)
    runs.data = tools.path("data.npy")
    numpy.save(runs.data, numpy.random.RandomState(3).randint(0, VOCABULARY, (2 * STEPS, SEQUENCE_LENGTH + 1), dtype=numpy.int32))
    values, runs.weights = training.random_parameters(tools.parameters(mlir)), tools.path("weights.safetensors")
    safetensors.save(runs.weights, values)
    _, path = runs.train(step, "end", STEPS, "--dump-gradients-every-step", folder)
    # No gradient moves the biases of routers.
    values = {name: value for name, value in values.items() if "expert_bias" not in name}
    ours = {name: value for name, value in safetensors.load(path).items() if name in values}
    name, worst, bound = compare_products(ours, lambda product: run_on_gradients(Reference(values, product), folder))
    print("%d parameters, worst %.1e of %.1e, %s" % (len(ours), worst, bound, name))
    if worst > bound:
        sys.exit("error: beyond the tolerance")


def main():
    torch.set_num_threads(1)
    runs, case = Runs(training.Tools(sys.argv[1], sys.argv[2])), sys.argv[3]
    others = {"layouts": compare_layouts, "matrices": compare_matrices}
    others[case](runs) if case in others else compare_with_torch(runs, case)


if __name__ == "__main__":
    main()
