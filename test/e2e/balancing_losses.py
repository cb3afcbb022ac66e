# SPDX-License-Identifier: Apache-2.0
"""Compares the loss that balances experts in the dynamic graph with that of a PyTorch model.

usage: balancing_losses.py BIN_FOLDER WORK_FOLDER

As in MindSpore Transformers' dynamic graph the loss counts the best experts by normalised scores alone, whatever bias
and groups choose. `seq_aux_loss` is the mean of the losses of sequences, `aux_loss` that of the sequences which a
replica has in a micro-batch; ranks with parts of the same sequences count together.
"""

import sys

import numpy
import safetensors
import step_results
import torch
import training
from dynamic_configurations import DEEPSEEK, PAD, SEQUENCE_LENGTH, Configuration, make_data
from latent_attention_matches_torch import MCORE_SHARPNESS
from torch_decoder import MCORE, Decoder

BOUND, FACTOR, LAYERS = 2e-5, 0.5, 2
MODEL = dict(
    DEEPSEEK, num_hidden_layers=LAYERS, num_nextn_predict_layers=0, moe_aux_loss_coeff=FACTOR, n_group=4, topk_group=2,
    pad_token_id=PAD, rms_norm_eps="1.e-6",
)  # fmt: skip
SAMPLES, PARTS = 12, 4
# A layout, and the sequences that a replica has in a micro-batch: fewer than parts, as many, more, and none of both.
CASES = [
    ({}, 1), ({}, 2), ({"data": 2}, 3), ({"tensor": 2}, 1), ({"context": 2}, 1), ({"tensor": 2, "context": 2}, 1),
    ({"tensor": 2, "context": 2}, 2), ({"tensor": 2}, 2), ({"context": 2}, 3), ({"tensor": 2}, 3),
    ({"context": 4}, 2),
]  # fmt: skip
# Groups that leave no choice out, and none.
EVERY_GROUP, NO_GROUPS = {"n_group": 4, "topk_group": 4}, {"n_group": 0, "topk_group": 0}


class Reference(Decoder):
    """`own` sequences have a loss of their own."""

    def __init__(self, model, parameters, own, counts_choices):
        settings = dict(
            kind="mcore", experts=model["n_routed_experts"], chosen=model["num_experts_per_tok"], sigmoid=True,
            method="dynamic" if model["n_group"] else "greedy", groups=model["n_group"], kept_groups=model["topk_group"],
            scale=2.5, has_bias=True,
        )  # fmt: skip
        super().__init__(MCORE, dict(model, experts=settings, sharpness=MCORE_SHARPNESS), parameters)
        self.own, self.counts_choices, self.balancing, self.chosen = own, counts_choices, 0, settings["chosen"]

    def balance(self, x, weight, choices):
        """E / (k T^2) times the sum over experts of their probabilities and of the tokens whose k best they are."""
        scores = torch.sigmoid(torch.nn.functional.linear(x, weight))
        scores = (scores / scores.sum(-1, keepdim=True)).flatten(0, 1).unflatten(0, (-1, self.own * SEQUENCE_LENGTH))
        tokens, experts = scores.shape[1:]
        best = choices.view(*scores.shape[:2], self.chosen) if self.counts_choices else scores.topk(self.chosen, -1).indices
        counts = torch.zeros_like(scores).scatter_(-1, best, 1.0).sum(1)
        return (scores.sum(1) * counts).sum(-1).mean() * experts / (self.chosen * tokens**2)

    def feed_forward(self, x, at):
        result = super().feed_forward(x, at)
        if at + "router.weight" in self.params:
            self.balancing = self.balancing + self.balance(x, self.params[at + "router.weight"], self.experts[at].indices)
        return result


def run(tools, loss, parallel, local, more):
    """The results of a training step, and its initial values."""
    data = tools.path("case.npy")
    micro_batches = SAMPLES // local // parallel.get("data", 1)
    configuration = Configuration(
        dict(MODEL, moe_router_load_balancing_type=loss, **more), parallel, {}, (micro_batches, local),
        training={"max_norm": "1.e+9"},
    )  # fmt: skip
    mlir, step = configuration.lower(tools)
    numpy.save(data, make_data(SAMPLES, PARTS))
    initial = step_results.initialize(tools, mlir)
    return step_results.run(tools, step, data, 1, initial), safetensors.load(initial)


def get_reference(model, values, own, counts_choices=False):
    rows = torch.from_numpy(make_data(SAMPLES, PARTS).astype(numpy.int64))
    tokens, labels = rows[:, :-1], rows[:, 1:].masked_fill(rows[:, :-1] == PAD, -100)
    reference = Reference(model, values, own, counts_choices)
    main = reference.loss(tokens, labels)
    loss = main + FACTOR * reference.balancing
    loss.backward()
    # One layer has experts.
    parts = {"lm_loss": main.item(), "load_balancing_loss": reference.balancing.item()}
    return loss.item(), parts, {name: p.grad.numpy() for name, p in reference.params.items() if p.requires_grad}


def get_distances(actual, reference):
    loss, parts, gradients = reference
    distances = {"loss": abs(actual.losses[0][0] - loss) / loss}
    assert list(actual.parts[0]) == list(parts), actual.parts
    for name, part in parts.items():
        distances[name] = abs(actual.parts[0][name] - part) / part
    for name, gradient in gradients.items():
        distances[name] = numpy.abs(actual.gradients[name] - gradient).max() / numpy.abs(gradient).max()
    return distances


def get_router(distances):
    return max(value for name, value in distances.items() if "router" in name)


def check(tools, loss, parallel, local, more):
    actual, values = run(tools, loss, parallel, local, more)
    arguments = dict(MODEL, **more), values, local if loss == "aux_loss" else 1
    distances = get_distances(actual, get_reference(*arguments))
    other = get_router(get_distances(actual, get_reference(*arguments, counts_choices=True)))
    print("%s of %s with %d sequences, %s: loss %.1e off, router %.1e, the worst %.1e; the counts of choices would be "
          "%.1e off" % (loss, parallel, local, more or "groups", distances["loss"], get_router(distances),
                        max(distances.values()), other), flush=True)  # fmt: skip
    assert max(distances.values()) < BOUND < other


def main():
    tools = training.Tools(sys.argv[1], sys.argv[2])
    torch.set_num_threads(1)
    for parallel, local in CASES:
        for loss in ("aux_loss", "seq_aux_loss"):
            check(tools, loss, parallel, local, {})
    for more in (EVERY_GROUP, NO_GROUPS):
        check(tools, "seq_aux_loss", {}, 2, more)


if __name__ == "__main__":
    main()
