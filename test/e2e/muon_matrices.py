# SPDX-License-Identifier: Apache-2.0
"""Compares Muon of weights that hold several matrices with one written apart, given the same gradients.

usage: muon_matrices.py BIN_FOLDER WORK_FOLDER

The weights are those of a DeepSeek-V3 of the dynamic graph; which of their rows and columns belong together is written
here by the names of the weights.
"""

import os
import sys

import numpy
import safetensors
import torch
import training
from dynamic_configurations import DEEPSEEK, SEQUENCE_LENGTH, VOCABULARY, Configuration
from muon import HUGE, STEPS, add_product, compare_products, orthogonalize

TRIPLES = [([3.4445, -4.7750, 2.0315], 5)]
RATE, DECAY, RMS = 1e-3, 0.1, 0.2
BETAS = (0.95, 0.95)
# PyTorch adds up products of matrices that are smaller than these otherwise.
PLAIN, ROTARY, VALUE, QUERY, LATENT = 48, 32, 40, 40, 56
MODEL = dict(
    DEEPSEEK, qk_nope_head_dim=PLAIN, qk_rope_head_dim=ROTARY, v_head_dim=VALUE, q_lora_rank=QUERY,
    kv_lora_rank=LATENT, n_routed_experts=32, num_nextn_predict_layers=0,
)  # fmt: skip
# All that is not of rank one decays, but for these.
EXCLUDED = "*linear_proj*"


def in_turns(first, second):
    """A function that divides n rows into those of the first part of each period and those of the second part."""

    def choose(n):
        places = numpy.arange(n) % (first + second)
        return [numpy.flatnonzero(places < first), numpy.flatnonzero(places >= first)]

    return choose


def behind_each_other(*sizes):
    return lambda n: numpy.split(numpy.arange(n), numpy.cumsum(sizes)[:-1])


ROWS = {
    "linear_qkv": behind_each_other(QUERY, LATENT, ROTARY),
    "linear_qb": in_turns(PLAIN, ROTARY),
    "linear_kvb": in_turns(PLAIN, VALUE),
    "linear_fc1": in_turns(1, 1),
}


def get_matrices(name, tensor):
    """Views of the matrices of a weight."""
    if name.endswith("experts.weight1"):
        width = tensor.shape[2] // 2
        return [expert[:, half * width : (half + 1) * width] for expert in tensor for half in (0, 1)]
    if tensor.dim() == 3:
        return list(tensor)
    for part, choose in ROWS.items():
        if part + "." in name:
            return [tensor[torch.from_numpy(rows)] for rows in choose(tensor.shape[0])]
    return [tensor]


def set_matrices(name, tensor, matrices):
    if tensor.dim() == 3:
        for view, matrix in zip(get_matrices(name, tensor), matrices, strict=True):
            view.copy_(matrix)
        return
    choose = next((rows for part, rows in ROWS.items() if part + "." in name), lambda n: [numpy.arange(n)])
    for rows, matrix in zip(choose(tensor.shape[0]), matrices, strict=True):
        tensor[torch.from_numpy(rows)] = matrix


class Reference:
    """Muon for matrices, AdamW for embedding, head and vectors."""

    def __init__(self, values, product):
        self.product = product
        self.values = {name: torch.tensor(value) for name, value in values.items()}
        self.moments = {name: (torch.zeros_like(v), torch.zeros_like(v)) for name, v in self.values.items()}

    def step(self, number, gradients):
        for name, value in self.values.items():
            gradient = torch.tensor(gradients[name])
            decay = DECAY if value.dim() > 1 and "linear_proj" not in name else 0.0
            is_adamw = "word_embeddings" in name or "output_layer" in name or value.dim() == 1
            (self.update_by_adamw if is_adamw else self.update)(name, value, gradient, decay, number)

    def update_by_adamw(self, name, value, gradient, decay, number):
        first, second = self.moments[name]
        first.mul_(BETAS[0]).add_(gradient, alpha=1 - BETAS[0])
        second.mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
        corrected = (second / (1 - BETAS[1] ** number)).sqrt() + 1e-8
        value.mul_(1 - RATE * decay).sub_(RATE / (1 - BETAS[0] ** number) * first / corrected)

    def update(self, name, value, gradient, decay, number):
        momentum = self.moments[name][0]
        momentum.copy_(add_product(gradient, momentum, 0.95))
        direction = add_product(gradient, momentum, 0.95)
        update = torch.empty_like(direction)
        set_matrices(name, update, [
            orthogonalize(matrix, TRIPLES, self.product) * RMS * max(matrix.shape) ** 0.5
            for matrix in get_matrices(name, direction)
        ])  # fmt: skip
        value.mul_(1 - RATE * decay).sub_(RATE * update)


def main():
    tools = training.Tools(sys.argv[1], sys.argv[2])
    torch.set_num_threads(1)
    optimizer = {
        "type": "Muon", "adamw_betas": "[0.95, 0.95]", "qk_clip_enabled": "False",
        "weight_decay_exclude": "['%s']" % EXCLUDED,
    }  # fmt: skip
    # Norms are not near the limit of clipping.
    configuration = Configuration(MODEL, {}, {}, (1, 2), optimizer=optimizer, training={"max_norm": HUGE})
    mlir, step = configuration.lower(tools)
    data = tools.path("data.npy")
    rows = numpy.random.RandomState(3).randint(0, VOCABULARY, (2 * STEPS, SEQUENCE_LENGTH + 1), dtype=numpy.int32)
    numpy.save(data, rows)
    values = training.random_parameters(tools.parameters(mlir))
    weights, saved, folder = (tools.path(name) for name in ("weights.safetensors", "end.safetensors", "gradients"))
    safetensors.save(weights, values)
    tools.train(step, data, STEPS, weights, extra=["--save-params", saved, "--dump-gradients-every-step", folder])

    def train(product):
        reference = Reference(values, product)
        for number in range(1, STEPS + 1):
            reference.step(number, safetensors.load(os.path.join(folder, "step_%06d.safetensors" % number)))
        return {name: value.numpy() for name, value in reference.values.items() if "expert_bias" not in name}

    ours = {name: value for name, value in safetensors.load(saved).items() if "expert_bias" not in name}
    name, worst, bound = compare_products(ours, train)
    print("%d parameters, worst %.1e of %.1e, %s" % (len(ours), worst, bound, name))
    if worst > bound:
        sys.exit("error: beyond the tolerance")


if __name__ == "__main__":
    main()
